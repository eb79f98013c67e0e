package web

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"weir/engine/trace"
)

// wsMessage is what a viewer may send that it should not.
type wsMessage struct {
	name string
	kind websocket.MessageType
	text string
	// ends is how the stream of trace events is closed for it; 0 answers an error and stays, cutOff is too much to read on
	// until the reason can be told.
	ends websocket.StatusCode
}

const cutOff websocket.StatusCode = -1

func badMessages() []wsMessage {
	return []wsMessage{
		{"no JSON", websocket.MessageText, `{"watch":`, 0},
		{"nothing", websocket.MessageText, ``, 0},
		{"no text", websocket.MessageText, "{\"arm\":\"\xff\xfe\"}", 0},
		{"a list", websocket.MessageText, `[1,2,3]`, 0},
		{"fields of another type", websocket.MessageText, `{"arm":5,"step":"x"}`, 0},
		{"a number out of range", websocket.MessageText, `{"step":-1}`, 0},
		{"a point that there is not", websocket.MessageText, `{"watch":["no-such-point"]}`, 0},
		{"a condition that is none", websocket.MessageText, `{"arm":"flush","when":"((((((((((n"}`, 0},
		{"a thread that is not stopped", websocket.MessageText, `{"resume":18446744073709551615}`, 0},
		{"deep JSON", websocket.MessageText, `{"watch":` + strings.Repeat("[", maxTraceMessage/2), 0},
		{"binary", websocket.MessageBinary, `{"watch":["flush"]}`, websocket.StatusUnsupportedData},
		{"too much text", websocket.MessageText, `{"when":"` + strings.Repeat("x", maxTraceMessage) + `"}`, websocket.StatusMessageTooBig},
		{"too much that is binary", websocket.MessageBinary, strings.Repeat("x", maxTraceMessage+1), websocket.StatusMessageTooBig},
		{"far too much", websocket.MessageText, strings.Repeat("x", 1<<20), cutOff},
	}
}

// closing reads on until the server ends the connection, and tells how.
func closing(ctx context.Context, c *websocket.Conn) websocket.CloseError {
	for {
		if _, _, err := c.Read(ctx); err != nil {
			var e websocket.CloseError
			if !errors.As(err, &e) {
				e.Reason = err.Error()
			}
			return e
		}
	}
}

// What a viewer sends to the trace is answered with an error, or ends its connection with a reason; the job and the other
// viewers go on. The bubble of fake time fails if a goroutine is left.
func TestTraceTakesAnyMessage(t *testing.T) {
	for _, m := range badMessages() {
		t.Run(m.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, f *fakeServer, open func(string) *websocket.Conn) {
				sess := f.start(t)
				other, gone := open("/api/v1/sessions/"+sess.id+"/trace"), make(chan struct{})
				go func() { // one that does not read is let go after a while
					defer close(gone)
					closing(t.Context(), other)
				}()
				c := open("/api/v1/sessions/" + sess.id + "/trace")
				read(t, c)
				_ = c.Write(t.Context(), m.kind, []byte(m.text)) // one that is cut off by the server is told so below
				if m.ends == 0 {
					if got := await(t, c, func(m map[string]any) bool { return m["error"] != nil })["error"].(string); got == "" || len(got) > 1000 {
						t.Errorf("answered with %.200q", got)
					}
					send(t, c, `{"watch":["flush"]}`)
					synctest.Wait() // it was obeyed
					f.run().tracer.Hit(trace.Flush, "flusher", trace.Int("n", 1))
					await(t, c, func(m map[string]any) bool { return m["events"] != nil })
				} else if got := closing(t.Context(), c); got.Code != m.ends && m.ends != cutOff || got.Reason == "" {
					t.Errorf("closed with %v", got)
				}
				synctest.Wait()
				select {
				case <-gone:
					t.Error("the other viewer was let go")
				default:
				}
				if sess.ended() {
					t.Error("the job ended")
				}
			})
		})
	}
}

// A viewer that sends faster than it is answered is held back, and its answers are few.
func TestManyTraceMessages(t *testing.T) {
	inFakeTime(t, func(t *testing.T, f *fakeServer, open func(string) *websocket.Conn) {
		sess := f.start(t)
		c := open("/api/v1/sessions/" + sess.id + "/trace")
		read(t, c)
		const sent = 300
		written := make(chan error, 1)
		go func() {
			for i := range sent {
				if err := c.Write(t.Context(), websocket.MessageText, []byte(`{"arm":"nope `+strings.Repeat("!", i)+`"}`)); err != nil {
					written <- err
					return
				}
			}
			written <- nil
		}()
		began, errs := time.Now(), 0
		for errs < 100 {
			if read(t, c)["error"] != nil {
				errs++
			}
		}
		// At most one answer each tenth of a second, whatever comes in.
		if took := time.Since(began); took < 9*time.Second {
			t.Errorf("100 errors were answered in %v", took)
		}
		select {
		case <-written:
			t.Errorf("%d messages were taken while 100 were answered", sent)
		default:
		}
		_ = c.CloseNow()
		<-written
	})
}

// One that reads nothing is let go, and with it what it stopped.
func TestTraceReaderThatTakesNothing(t *testing.T) {
	inFakeTime(t, func(t *testing.T, f *fakeServer, open func(string) *websocket.Conn) {
		sess := f.start(t)
		c := open("/api/v1/sessions/" + sess.id + "/trace")
		send(t, c, `{"arm":"flush"}`)
		await(t, c, func(m map[string]any) bool { return len(m["armed"].(map[string]any)) == 1 })
		passed := make(chan struct{})
		go func() {
			f.run().tracer.Hit(trace.Flush, "flusher", trace.Int("n", 1))
			close(passed)
		}()
		began := time.Now()
		<-passed
		if took := time.Since(began); took > 2*writeDeadline {
			t.Errorf("a thread stood for %v before a viewer that reads nothing", took)
		}
		if sess.ended() {
			t.Error("the job ended")
		}
	})
}

// Nothing is to be sent to the other streams: who does is told so.
func TestStreamsTakeNoMessages(t *testing.T) {
	f, k, teacher := newFakeClass(t, ClassLimits{})
	ann := f.joined(t, k.ID, "Ann")
	sess := f.startAs(t, ann)
	web := httptest.NewServer(f)
	defer web.Close()
	for _, c := range []struct{ token, cookie, path string }{
		{ann.token, personCookie, "/api/v1/sessions/" + sess.id + "/stream"},
		{ann.token, personCookie, "/api/v1/class/live"},
		{teacher, instructorCookie, "/api/v1/class/wall/stream"},
		{teacher, instructorCookie, "/api/v1/sessions/" + sess.id + "/stream"},
	} {
		for _, m := range badMessages() {
			conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(web.URL, "http")+c.path,
				&websocket.DialOptions{HTTPHeader: http.Header{"Cookie": {c.cookie + "=" + c.token}}})
			if err != nil {
				t.Fatalf("%s: %v", c.path, err)
			}
			_ = conn.Write(t.Context(), m.kind, []byte(m.text)) // one that is cut off is told so below
			if got := closing(t.Context(), conn); got.Code != websocket.StatusPolicyViolation && m.ends != cutOff {
				t.Errorf("%s, %s: closed with %v", c.path, m.name, got)
			}
			_ = conn.CloseNow()
			waitFor(t, "the place of a websocket is given back", func() bool {
				f.course.sockets.mu.Lock()
				defer f.course.sockets.mu.Unlock()
				return len(f.course.sockets.n) == 0 && sess.viewers.Load() == 0
			})
		}
	}
	if sess.ended() {
		t.Error("the job ended")
	}
}

// A learner has so many websockets at once and no more; one that is closed makes room.
func TestWebsocketsOfALearnerAreBounded(t *testing.T) {
	f, k, _ := newFakeClass(t, ClassLimits{})
	ann, ben := f.joined(t, k.ID, "Ann"), f.joined(t, k.ID, "Ben")
	web := httptest.NewServer(f)
	defer web.Close()
	dial := func(who *caller) (*websocket.Conn, int) {
		conn, resp, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(web.URL, "http")+"/api/v1/class/live",
			&websocket.DialOptions{HTTPHeader: http.Header{"Cookie": {personCookie + "=" + who.token}}})
		if err != nil && resp == nil {
			t.Fatal(err)
		}
		return conn, resp.StatusCode
	}
	var open []*websocket.Conn
	for range mostSockets {
		conn, status := dial(ann)
		if status != 101 {
			t.Fatalf("websocket %d: %d", len(open)+1, status)
		}
		open = append(open, conn)
	}
	if _, status := dial(ann); status != 429 {
		t.Errorf("one more: %d", status)
	}
	conn, status := dial(ben)
	if status != 101 {
		t.Errorf("another learner: %d", status)
	}
	_ = conn.CloseNow()
	_ = open[0].CloseNow()
	waitFor(t, "one that was closed makes room", func() bool {
		conn, status := dial(ann)
		if status == 101 {
			open[0] = conn
		}
		return status == 101
	})
	for _, c := range open {
		_ = c.CloseNow()
	}
}

// A request that is no websocket is told what is expected, in the shape of every refusal.
func TestWebsocketRoutesNeedWebsockets(t *testing.T) {
	f := newFakeServer(t)
	sess := f.start(t)
	for _, headers := range [][]string{
		{}, {"Upgrade", "websocket"}, {"Upgrade", "websocket", "Connection", "Upgrade"},
		{"Upgrade", "websocket", "Connection", "Upgrade", "Sec-WebSocket-Version", "8", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="},
	} {
		for _, path := range []string{"/stream", "/trace"} {
			r := httptest.NewRequest("GET", "/api/v1/sessions/"+sess.id+path, nil)
			for i := 0; i+1 < len(headers); i += 2 {
				r.Header.Set(headers[i], headers[i+1])
			}
			w := f.ask(r)
			if p := problemIn(t, w); p.Status != http.StatusUpgradeRequired || p.Field != "Upgrade" || w.Header().Get("Upgrade") != "websocket" {
				t.Errorf("%v: %+v", headers, p)
			}
		}
	}
}

// FuzzTraceMessage has a viewer say anything: it is obeyed or refused, and when the viewer leaves nothing is armed.
func FuzzTraceMessage(f *testing.F) {
	for _, m := range badMessages() {
		f.Add([]byte(m.text))
	}
	for _, text := range []string{`{"watch":["flush","creditAdded"]}`, `{"arm":"creditAdded","when":"credit >= 2 && channel == 1"}`, `{"disarm":"creditAdded"}`, `{"resumeAll":true}`, `{"step":1,"resume":2}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		if len(message) > maxTraceMessage {
			return // the connection ends before it is read
		}
		synctest.Test(t, func(t *testing.T) {
			tracer := trace.New()
			v := tracer.Attach()
			if err := obey(v, message); err != nil && err.Error() == "" {
				t.Error("refused without a word")
			}
			go tracer.Hit(trace.Flush, "flusher", trace.Int("n", 1))
			synctest.Wait()
			v.Close()
			synctest.Wait()
			if stopped := tracer.Stopped(); len(stopped) != 0 {
				t.Errorf("the viewer left and %v stand still", stopped)
			}
			tracer.Close()
		})
	})
}

// waitFor waits for what comes by itself, however busy the machine is.
func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what + ": not in a minute")
		}
	}
}
