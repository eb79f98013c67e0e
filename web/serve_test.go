package web

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestServe(t *testing.T) {
	defer goleak.VerifyNone(t)
	data := filepath.Join(t.TempDir(), "data")
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- Serve(ctx, Options{Addr: "127.0.0.1:0", DataDir: data, Out: w})
		_ = w.Close()
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err, <-done)
	}
	m := regexp.MustCompile(`^listening on (http://127\.0\.0\.1:\d+)\n$`).FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("it printed %q", line)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(m[1] + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	resp, err = client.Post(m[1]+"/api/v1/sessions", "application/json", strings.NewReader(`{"lab":"backpressure"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		t.Errorf("start: %s", resp.Status)
	}
	// A second server on the same port is told what to do.
	err = Serve(ctx, Options{Addr: strings.TrimPrefix(m[1], "http://"), DataDir: data})
	if err == nil || !strings.Contains(err.Error(), "is in use: choose another with --addr") || strings.Contains(err.Error(), "\n") {
		t.Errorf("port in use: %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(data)
	// The key that signs records is to be the same the next time.
	if err != nil || len(left) != 1 || left[0].Name() != "record.key" {
		t.Errorf("left in the data folder: %v, %v", left, err)
	}
}

func TestServeRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ addr, data, says string }{
		{"127.0.0.1:0", filepath.Join(file, "data"), "data folder " + filepath.Join(file, "data") + " is not writable (not a directory): choose another with --data DIR"},
		{"127.0.0.1", t.TempDir(), "is not HOST:PORT"},
		{"127.0.0.1:99999", t.TempDir(), "choose another address with --addr"},
		{"no-such-host.invalid:0", t.TempDir(), "choose another address with --addr"},
	} {
		err := Serve(t.Context(), Options{Addr: c.addr, DataDir: c.data})
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %s: %v", c.addr, c.data, err)
		}
	}
}

func TestPortInUseNamesTheHost(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	_, err = listen(t.Context(), ln.Addr().String())
	if err == nil || !strings.Contains(err.Error(), "--addr 127.0.0.1:8091") {
		t.Error(err)
	}
}
