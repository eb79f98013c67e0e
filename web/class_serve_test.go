package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/engine/metric"
)

// served is a running server of classes and what it printed.
type served struct {
	base, link, code, join string
	stop                   func()
}

// syncBuffer is a log that a server writes while a test reads it.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func serveClass(t *testing.T, data string, log io.Writer) *served {
	t.Helper()
	return serveClassWith(t, data, log, ClassOptions{})
}

func serveClassWith(t *testing.T, data string, log io.Writer, o ClassOptions) *served {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- Serve(ctx, Options{Addr: "127.0.0.1:0", DataDir: data, Out: w, Class: &o,
			Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		_ = w.Close()
	}()
	s := &served{}
	lines := bufio.NewScanner(r)
	for s.join == "" && lines.Scan() {
		for prefix, to := range map[string]*string{"listening on ": &s.base, "instructor link: ": &s.link, "join code: ": &s.code, "join at: ": &s.join} {
			if rest, ok := strings.CutPrefix(lines.Text(), prefix); ok {
				*to = rest
			}
		}
	}
	if s.base == "" || s.link == "" || s.code == "" || s.join == "" {
		t.Fatalf("it printed %+v: %v", s, <-done)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	s.stop = func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	return s
}

// A session comes back after a restart from its last checkpoint, with its knobs, for the same learner.
func TestSessionsComeBack(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	data := filepath.Join(t.TempDir(), "data")
	var log syncBuffer
	s := serveClass(t, data, &log)
	jar, _ := cookiejar.New(nil)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Jar: jar, Transport: transport}
	var base string
	call := func(method, path, body string, to any) int {
		req, _ := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		if to != nil && resp.StatusCode < 300 {
			if err := json.Unmarshal(b, to); err != nil {
				t.Fatalf("%v in %s", err, b)
			}
		}
		return resp.StatusCode
	}
	base = s.base
	var me classMe
	if code := call("POST", "/api/v1/class/join", `{"code":"`+s.code+`","name":"Ann"}`, &me); code != 201 {
		t.Fatal(code)
	}
	var started struct{ ID string }
	if code := call("POST", "/api/v1/sessions", `{"lab":"backpressure","knobs":{"rate":500,"debloat":true,"checkpointIntervalMs":500}}`, &started); code != 201 {
		t.Fatal(code)
	}
	if code := call("PATCH", "/api/v1/sessions/"+started.ID+"/knobs", `{"rate":600}`, nil); code != 200 {
		t.Fatal(code)
	}
	var snap metric.Snapshot
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		call("GET", "/api/v1/sessions/"+started.ID, "", &snap)
		if len(snap.Checkpoints) > 0 && snap.Checkpoints[len(snap.Checkpoints)-1].Status == "COMPLETED" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no checkpoint was completed")
		}
	}
	if strings.Contains(snap.Checkpoints[0].Path, "/") {
		t.Errorf("a learner reads the server's path %s", snap.Checkpoints[0].Path)
	}
	s.stop()
	again := serveClass(t, data, &log)
	if again.code != s.code || again.link[strings.LastIndex(again.link, "/"):] != s.link[strings.LastIndex(s.link, "/"):] {
		t.Errorf("after the restart code and link are %s %s, before %s %s", again.code, again.link, s.code, s.link)
	}
	base = again.base
	if code := call("GET", "/api/v1/sessions/"+started.ID, "", &snap); code != 200 {
		t.Fatalf("after the restart: %d", code)
	}
	if snap.RestoredCheckpointID < 1 || snap.Knobs["rate"] != 600.0 || snap.Knobs["debloat"] != true {
		t.Errorf("it came back from %v with %v", snap.RestoredCheckpointID, snap.Knobs)
	}
	if code := call("GET", "/class/p/"+me.Token, "", nil); code != 200 {
		t.Errorf("the personal link: %d", code)
	}
	if code := call("DELETE", "/api/v1/class/me", "", nil); code != 204 {
		t.Errorf("delete me: %d", code)
	}
	again.stop()
	if left, err := os.ReadDir(filepath.Join(data, "class", "sessions")); err != nil || len(left) != 0 {
		t.Errorf("left of a learner who was deleted: %v, %v", left, err)
	}
	if said := log.String(); strings.Contains(said, me.Token) || strings.Contains(said, s.link[strings.LastIndex(s.link, "/")+1:]) {
		t.Error("the log has a token")
	}
}

func TestTwoServersNeedTwoFolders(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := serveClass(t, data, io.Discard)
	defer s.stop()
	err := Serve(t.Context(), Options{Addr: "127.0.0.1:0", DataDir: data, Class: &ClassOptions{}})
	if err == nil || !strings.Contains(err.Error(), "give each its own with --data DIR") {
		t.Errorf("a second server in the same folder: %v", err)
	}
}
