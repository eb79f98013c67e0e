package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"weir/exercises/kit/runner"
)

const (
	submitTries = 4
	submitTime  = 15 * time.Second // of one try
)

// submitPause is what lies between the first two tries; it doubles.
var submitPause = 500 * time.Millisecond

// resultsAddress is where a class takes results; empty for no class.
func resultsAddress(server string) (string, error) {
	if server == "" {
		return "", nil
	}
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", usage("--submit %q: give the address of the class's server, such as http://192.0.2.7:8090", server)
	}
	return u.JoinPath("api/v1/class/results").String(), nil
}

// submitted is one result as a class takes it.
type submitted struct {
	// ID is the same however often the result is sent, so that it is kept once.
	ID       string `json:"id"`
	Exercise string `json:"exercise"`
	runner.ExerciseReport
	Engine string `json:"engine"`
	Work   handed `json:"work"`
}

// handed is the work itself. Bytes of a record are in base64.
type handed struct {
	Core   string          `json:"core,omitempty"`
	Answer json.RawMessage `json:"answer,omitempty"`
	Record []byte          `json:"record,omitempty"`
	Digest string          `json:"digest"`
}

// submit reports each exercise that has work.
func submit(ctx context.Context, to, token string, report *runner.Report, work []*runner.Submission, s streams) error {
	sent := 0
	for i := range report.Exercises {
		e := &report.Exercises[i]
		if e.Work == "" {
			continue
		}
		r := submitted{ID: rand.Text(), Exercise: e.ID, ExerciseReport: *e, Engine: report.Engine}
		r.Work = handed{Core: string(work[i].Core), Record: work[i].Record, Digest: e.Work}
		if json.Valid(work[i].Answer) {
			r.Work.Answer = work[i].Answer
		}
		body, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if err := post(ctx, to, token, body); err != nil {
			return fmt.Errorf("reporting exercise %s to %s: %w", e.ID, to, err)
		}
		sent++
	}
	_, _ = fmt.Fprintf(s.err, "labserver: %d results reported\n", sent)
	return nil
}

// post sends one result, again when the server could not be reached or was too busy.
func post(ctx context.Context, to, token string, body []byte) error {
	pause := submitPause
	for try := 1; ; try++ {
		again, err := postOnce(ctx, to, token, body)
		if err == nil || !again || try == submitTries || ctx.Err() != nil {
			return err
		}
		wait := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			wait.Stop()
			return ctx.Err()
		case <-wait.C:
		}
		pause *= 2
	}
}

func postOnce(ctx context.Context, to, token string, body []byte) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, submitTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return true, err
	}
	defer resp.Body.Close()
	const most = 4 << 10
	said, _ := io.ReadAll(io.LimitReader(resp.Body, most))
	switch {
	case resp.StatusCode < 300:
		return false, nil
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return false, errors.New("the server does not know this token: copy it from your page of the class")
	case resp.StatusCode == http.StatusNotFound:
		return false, errors.New("there is no class: is it a labserver serve --class?")
	}
	var problem struct{ Title, Detail string }
	_ = json.Unmarshal(said, &problem) // an answer that is no problem says nothing more
	return resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests,
		fmt.Errorf("the server answered %s. %s", resp.Status, problem.Detail)
}
