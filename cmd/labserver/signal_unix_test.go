//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestSignalsOfOneBreathAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var after atomic.Int64
		begin := time.Now()
		go letGo(ctx, func() { after.Store(int64(time.Since(begin))) })
		cancel()
		time.Sleep(2 * time.Second)
		if d := time.Duration(after.Load()); d != time.Second {
			t.Errorf("a second signal ends the process at once after %v", d)
		}
	})
}

// A closed terminal, a supervisor and timeout(1) send two signals at once: the end is as clean as with one.
func TestTwoSignalsAtOnce(t *testing.T) {
	for _, second := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		c := exec.Command(os.Args[0], "serve", "--addr", "127.0.0.1:0", "--data", t.TempDir())
		c.Env = append(os.Environ(), asLabserver+"=yes")
		c.WaitDelay = time.Minute
		var said bytes.Buffer
		c.Stderr = &said
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "listening on ") {
			t.Errorf("%q %v: %s", line, err, said.String())
		}
		first := syscall.SIGHUP
		if second == syscall.SIGHUP {
			first = syscall.SIGINT
		}
		for _, s := range []syscall.Signal{first, second} {
			if err := c.Process.Signal(s); err != nil {
				t.Errorf("%v: %v", s, err)
			}
		}
		if err := c.Wait(); err != nil || !strings.Contains(said.String(), "stopped") {
			t.Errorf("after %v and %v: %v, %s", first, second, err, said.String())
		}
	}
}
