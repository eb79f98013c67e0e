package web

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A server that asks another one of the same store proves it with a statement in a header: who asks whom, when, for what,
// on whose behalf, all under a secret that is in the store and that never leaves a server. On whose behalf is told by the
// hash of that person's token, as the store keeps it, so that the other end finds out by itself who that is and what they
// may. The answer proves that it comes from a server which knows the secret too.

const (
	statementHeader = "X-Weir-Server"
	proofHeader     = "X-Weir-Proof"
	// serverSecret names the secret in the store.
	serverSecret = "servers"
	// statementAge is how long a statement is taken, and so how far the clocks of two servers may lie apart.
	statementAge = 2 * time.Minute
	// mostForwarded is the body of a request that is handed on: none of a session's is larger.
	mostForwarded = 1 << 20
	nobodysHash   = "-"
)

// trust is what the servers on one store know of each other.
type trust struct {
	server string
	secret []byte

	mu   sync.Mutex
	used map[string]time.Time // statements that changed something, until they are too old to be taken anyway
}

func newTrust(server string, secret []byte) *trust {
	return &trust{server: server, secret: secret, used: map[string]time.Time{}}
}

func (t *trust) mac(parts ...string) string {
	m := hmac.New(sha256.New, t.secret)
	for _, p := range parts {
		_, _ = fmt.Fprintf(m, "%d:%s", len(p), p) // never fails; the lengths keep parts apart
	}
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// statement is the header in its parts.
type statement struct{ from, to, at, nonce, as, body, mac string }

func (s *statement) String() string {
	return strings.Join([]string{s.from, s.to, s.at, s.nonce, s.as, s.body, s.mac}, " ")
}

func (t *trust) macOf(s *statement, method, target string) string {
	return t.mac("request", method, target, s.from, s.to, s.at, s.nonce, s.as, s.body)
}

// state makes the statement for a request to another server. hash is of the token of whom the request is for; none is for
// the server itself.
func (t *trust) state(to, method, target string, body, hash []byte) *statement {
	digest := sha256.Sum256(body)
	s := &statement{from: t.server, to: to, at: strconv.FormatInt(time.Now().UnixMilli(), 10), nonce: rand.Text(),
		as: nobodysHash, body: base64.RawURLEncoding.EncodeToString(digest[:])}
	if len(hash) > 0 {
		s.as = base64.RawURLEncoding.EncodeToString(hash)
	}
	s.mac = t.macOf(s, method, target)
	return s
}

// proof is what the other server answers to a statement.
func (t *trust) proof(s *statement) string { return t.mac("answer", s.mac) }

// proves tells whether an answer comes from a server that knows the secret.
func (t *trust) proves(s *statement, h http.Header) bool {
	return hmac.Equal([]byte(h.Get(proofHeader)), []byte(t.proof(s)))
}

// check reads the statement of a request and tells whether it holds.
func (t *trust) check(r *http.Request) (*statement, error) {
	f := strings.Split(r.Header.Get(statementHeader), " ")
	if len(f) != 7 {
		return nil, errNotStated
	}
	s := &statement{f[0], f[1], f[2], f[3], f[4], f[5], f[6]}
	if !hmac.Equal([]byte(s.mac), []byte(t.macOf(s, r.Method, r.URL.RequestURI()))) || s.to != t.server || s.from == t.server {
		return nil, errNotStated
	}
	ms, err := strconv.ParseInt(s.at, 10, 64)
	now := time.Now()
	if age := now.Sub(time.UnixMilli(ms)); err != nil || age > statementAge || age < -statementAge {
		return nil, newProblem(http.StatusUnauthorized, statementHeader, fmt.Sprintf("the clocks of the two servers lie more than %v apart: set them", statementAge))
	}
	body := []byte{}
	if r.Body != nil {
		if body, err = io.ReadAll(io.LimitReader(r.Body, mostForwarded+1)); err != nil {
			return nil, errNotStated
		}
		_ = r.Body.Close()
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	digest := sha256.Sum256(body)
	if base64.RawURLEncoding.EncodeToString(digest[:]) != s.body {
		return nil, errNotStated
	}
	if r.Method != http.MethodGet && !t.once(s.nonce, now) {
		return nil, errNotStated
	}
	return s, nil
}

var errNotStated = newProblem(http.StatusUnauthorized, statementHeader, "this is not the word of a server of this store")

// once tells whether a statement was not used before.
func (t *trust) once(nonce string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for n, until := range t.used {
		if now.After(until) {
			delete(t.used, n)
		}
	}
	if _, before := t.used[nonce]; before {
		return false
	}
	t.used[nonce] = now.Add(2 * statementAge)
	return true
}

// identifyServer finds out for whom another server asks: for itself, or for a member whom the store knows here too.
func (c *course) identifyServer(ctx context.Context, r *http.Request) (*caller, *statement, error) {
	s, err := c.trust.check(r)
	if err != nil {
		return nil, nil, err
	}
	if s.as == nobodysHash {
		return &caller{Kind: anotherServer, via: s.from}, s, nil
	}
	hash, err := base64.RawURLEncoding.DecodeString(s.as)
	if err != nil {
		return nil, nil, errNotStated
	}
	who, err := c.whoHasHash(ctx, "#"+s.as, hash)
	if err != nil {
		return nil, nil, err
	}
	if who == nil {
		return &caller{Kind: nobody}, s, nil
	}
	forwarded := *who
	forwarded.via = s.from
	return &forwarded, s, nil
}
