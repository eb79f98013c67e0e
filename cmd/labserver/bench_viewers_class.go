package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// viewersClass is the class whose learners are the viewers: each has joined with the code and follows the spotlight with a
// cookie of its own, as a page does.
type viewersClass struct {
	url, code, instructor string
	cookies               []string // of those who joined, as their browsers send them
}

// joinersAtOnce join side by side, as a class does at the beginning of a lesson.
const joinersAtOnce = 8

// spotlight has all pages follow a session.
func (k *viewersClass) spotlight(ctx context.Context, session string) error {
	_, err := benchCall(ctx, k.url+"/api/v1/class/spotlight", k.instructor, map[string]any{"session": session}, http.StatusOK, nil)
	return err
}

// learners has so many join as are missing, and gives the cookies of n.
func (k *viewersClass) learners(ctx context.Context, n int) ([]string, error) {
	first := len(k.cookies)
	if n <= first {
		return k.cookies[:n], nil
	}
	joined, errs := make([]string, n-first), make([]error, joinersAtOnce)
	var all sync.WaitGroup
	for j := range joinersAtOnce {
		all.Go(func() {
			for i := j; i < len(joined) && errs[j] == nil; i += joinersAtOnce {
				joined[i], errs[j] = k.join(ctx, fmt.Sprintf("Learner %d", first+i+1))
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	k.cookies = append(k.cookies, joined...)
	return k.cookies, nil
}

func (k *viewersClass) join(ctx context.Context, name string) (cookie string, err error) {
	resp, err := benchCall(ctx, k.url+"/api/v1/class/join", "", map[string]any{"code": k.code, "name": name}, http.StatusCreated, nil)
	if err != nil {
		return "", err
	}
	for _, c := range resp.Cookies() {
		return c.Name + "=" + c.Value, nil
	}
	return "", errors.New("joining gave no cookie")
}

// benchCall posts to the server that is measured, with a bearer token unless it is empty, and decodes the answer into out
// unless that is nil.
func benchCall(ctx context.Context, url, token string, body any, want int, out any) (*http.Response, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(string(b)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	said, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != want {
		return nil, fmt.Errorf("%s: %s: %.300s", req.URL.Path, resp.Status, said)
	}
	if out != nil {
		err = json.Unmarshal(said, out)
	}
	return resp, err
}
