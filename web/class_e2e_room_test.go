//go:build linux

package web_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// Forty learners run the flagship at once on one server, each with a page that follows it: all are healthy, in less than
// 1.5 GB. What a run of its own gets is measured by labserver bench sessions; here a busy machine must not fail the test.
func TestFortyLearnersAtOnce(t *testing.T) {
	h := newHost(t)
	const learners = 40
	all := h.joinAll(learners)
	ids := make([]string, learners)
	each(learners, 8, func(i int) {
		var session struct{ ID string }
		if status, said := call("POST", h.at("/api/v1/sessions"), all[i].Token, any1{"lab": "backpressure"}, &session); status != 201 {
			t.Errorf("starting run %d: %d: %s", i, status, said)
		}
		ids[i] = session.ID
	})
	if t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var pictures atomic.Int64
	pages, leave := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		each(learners, learners, func(i int) {
			c, _, err := websocket.Dial(pages, "ws"+strings.TrimPrefix(h.at("/api/v1/sessions/"+ids[i]+"/stream?hz=10"), "http"),
				&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + all[i].Token}}})
			if err != nil {
				t.Errorf("following run %d: %v", i, err)
				return
			}
			defer func() { _ = c.CloseNow() }()
			c.SetReadLimit(4 << 20)
			for {
				if _, _, err := c.Read(pages); err != nil {
					return
				}
				pictures.Add(1)
			}
		})
	}()
	began := time.Now()
	healthy := map[int]bool{}
	eventually(t, "all runs are healthy", func() error {
		for i, id := range ids {
			if healthy[i] {
				continue
			}
			var s struct {
				State       string
				Checkpoints []struct{ Status string }
				Vertices    []struct {
					ID       string
					Subtasks []struct {
						Recent struct {
							Pressed float64 `json:"backPressuredTimeMsPerSecond"`
						}
					}
				}
			}
			if status, said := call("GET", h.at("/api/v1/sessions/"+id), all[i].Token, nil, &s); status != 200 {
				return fmt.Errorf("run %d: %d: %s", i, status, said)
			}
			completed := 0
			for _, c := range s.Checkpoints {
				if c.Status == "COMPLETED" {
					completed++
				}
				if c.Status == "FAILED" {
					t.Errorf("a checkpoint of run %d failed", i)
				}
			}
			pressed := 1000.0
			for _, v := range s.Vertices {
				for _, sub := range v.Subtasks {
					if v.ID == "source" {
						pressed = min(pressed, sub.Recent.Pressed)
					}
				}
			}
			if s.State != "RUNNING" || completed < 2 || pressed < 950 {
				return fmt.Errorf("run %d: %s, %d checkpoints completed, its source back-pressured for %.0f ms/s", i, s.State, completed, pressed)
			}
			healthy[i] = true
		}
		return nil
	})
	took := time.Since(began)
	var size, resident int64
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", h.cmd.Process.Pid)); err != nil {
		t.Error(err)
	} else if _, err := fmt.Sscan(string(b), &size, &resident); err != nil {
		t.Error(err)
	}
	resident *= int64(os.Getpagesize())
	hz := float64(pictures.Load()) / learners / took.Seconds()
	leave()
	<-watched
	h.stop()
	t.Logf("%.1f s, %.1f pictures a second of each run, %d MB resident", took.Seconds(), hz, resident>>20)
	if resident > 1500<<20 {
		t.Errorf("%d MB are resident", resident>>20)
	}
	if hz < 1 {
		t.Errorf("a page gets %.1f pictures a second", hz)
	}
}
