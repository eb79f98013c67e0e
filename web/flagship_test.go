package web

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"weir/web/delta"
)

// liveServer serves the real labs.
func liveServer(t *testing.T) (*Server, *httptest.Server) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s, err := newServer(ctx, Options{DataDir: t.TempDir()}.withDefaults(), startLab)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		cancel()
		h.Close()
		if err := s.close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s, h
}

// The flagship's messages average 2 KB at most, ten a second, and nearly all of them differ in readings. The first comes
// within half a second of the start.
func TestFlagshipMessages(t *testing.T) {
	s, h := liveServer(t)
	var c *websocket.Conn
	var picture any
	next := func() (any, []byte) {
		_, b, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var m any
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		return m, b
	}
	// The best of three, since other tests may share the machine.
	var took time.Duration
	for range 3 {
		start := time.Now()
		sess, err := s.startSession(t.Context(), "backpressure", nil, "", "")
		if err != nil {
			t.Fatal(err)
		}
		if c, _, err = websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(h.URL, "http")+"/api/v1/sessions/"+sess.id+"/stream?hz=10", nil); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.CloseNow() }()
		c.SetReadLimit(1 << 20)
		picture, _ = next()
		if took = time.Since(start); took <= 500*time.Millisecond {
			break
		}
		if err := s.sessions.end(sess.id); err != nil {
			t.Fatal(err)
		}
	}
	if took > 500*time.Millisecond {
		t.Errorf("the first picture came after %v", took)
	}
	const messages = 80
	sum, differing := 0, 0
	for range messages {
		m, b := next()
		sum += len(b)
		if d := m.(map[string]any); d["channels"] != nil || d["vertices"] != nil {
			differing++
		}
		picture = delta.Merge(picture, m)
	}
	t.Logf("%d messages of %d bytes on average, %d differ in readings", messages, sum/messages, differing)
	if average := sum / messages; average > 2048 {
		t.Errorf("a message has %d bytes on average", average)
	}
	if differing < messages*9/10 {
		t.Errorf("only %d of %d messages differ in readings", differing, messages)
	}
	channels, _ := picture.(map[string]any)["channels"].([]any)
	kinds := map[string]int{}
	for _, ch := range channels {
		kinds[ch.(map[string]any)["kind"].(string)]++
	}
	if kinds["local"] != 2 || kinds["remote"] != 2 {
		t.Errorf("channels: %v, want 2 local and 2 remote", kinds)
	}
}
