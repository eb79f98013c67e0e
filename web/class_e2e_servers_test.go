//go:build unix

package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// reader follows a stream and remembers when messages came and what all of them said.
type reader struct {
	mu    sync.Mutex
	came  []time.Time
	said  strings.Builder
	ended websocket.StatusCode // 0 while it goes on
}

func followAs(ctx context.Context, url, token string) (*reader, error) {
	c, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(url, "http"), &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
	if err != nil {
		return nil, err
	}
	c.SetReadLimit(4 << 20)
	r := &reader{}
	go func() {
		defer func() { _ = c.CloseNow() }()
		for {
			_, b, err := c.Read(ctx)
			r.mu.Lock()
			if err != nil {
				r.ended = websocket.CloseStatus(err)
				r.mu.Unlock()
				return
			}
			r.came = append(r.came, time.Now())
			if len(b) < 8<<10 || len(r.came) == 1 {
				r.said.Write(b)
			}
			r.mu.Unlock()
		}
	}()
	return r, nil
}

// most is the most messages that came within a second.
func (r *reader) most() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	most := 0
	for i := range r.came {
		n := 0
		for _, at := range r.came[i:] {
			if at.Sub(r.came[i]) < time.Second {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func (r *reader) heard(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Contains(r.said.String(), text)
}

func (r *reader) end() websocket.StatusCode {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// spotlightOnAnotherServer has learners of one server follow a run of another one, with the knobs that the instructor turns; the
// other server is killed, the learners are told, it returns, and they follow again.
func spotlightOnAnotherServer(t *testing.T, url string) {
	one, two := newHost(t, "--db", url), newHost(t, "--db", url)
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	var session struct{ ID string }
	must(t, 201, "POST", one.at("/api/v1/sessions"), one.link, any1{"lab": "backpressure"}, &session)
	must(t, 200, "POST", two.at("/api/v1/class/spotlight"), one.link, any1{"session": session.ID}, nil)
	learners := two.joinAll(5)
	stream := two.at("/api/v1/sessions/" + session.ID + "/stream?hz=10")
	follow := func() []*reader {
		all := make([]*reader, len(learners))
		for i, p := range learners {
			eventually(t, "a learner follows", func() (err error) {
				all[i], err = followAs(ctx, stream, p.Token)
				return err
			})
		}
		return all
	}
	atEight := func(all []*reader) {
		eventually(t, "each learner gets 8 pictures a second", func() error {
			for i, r := range all {
				if n := r.most(); n < 8 {
					return fmt.Errorf("learner %d got at most %d in a second", i, n)
				}
			}
			return nil
		})
	}
	readers := follow()
	atEight(readers)
	must(t, 200, "PATCH", two.at("/api/v1/sessions/"+session.ID+"/knobs"), one.link, any1{"rate": 1234}, nil)
	eventually(t, "each learner sees the knob", func() error {
		for i, r := range readers {
			if !r.heard(`"rate":1234`) {
				return fmt.Errorf("learner %d does not", i)
			}
		}
		return nil
	})

	one.kill()
	eventually(t, "each learner is told", func() error {
		for i, r := range readers {
			if status := r.end(); status != websocket.StatusTryAgainLater {
				return fmt.Errorf("learner %d has %v", i, status)
			}
		}
		return nil
	})
	status, said := call("GET", two.at("/api/v1/sessions/"+session.ID+"/evidence"), learners[0].Token, nil, nil)
	var why struct{ Field string }
	if err := json.Unmarshal([]byte(said), &why); err != nil || status != 503 || why.Field != "server" {
		t.Errorf("without the other server: %d %s", status, said)
	}

	one.again()
	again := follow()
	atEight(again)
	for i, r := range again {
		if !r.heard(`"rate":1234`) {
			t.Errorf("learner %d sees another run", i)
		}
	}
	one.stop()
	two.stop()
}
