package web

import (
	"encoding/json"
	"testing"

	"github.com/coder/websocket"

	"weir/engine/trace"
)

func send(t *testing.T, c *websocket.Conn, message string) {
	t.Helper()
	if err := c.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
		t.Fatal(err)
	}
}

// await reads until a message is as wanted; in fake time one comes each tenth of a second for ever.
func await(t *testing.T, c *websocket.Conn, wanted func(map[string]any) bool) map[string]any {
	t.Helper()
	for range 1000 {
		if m := read(t, c); wanted(m) {
			return m
		}
	}
	t.Fatal("1000 messages were not as wanted")
	return nil
}

func stopped(m map[string]any) []any { s, _ := m["stopped"].([]any); return s }

func TestTrace(t *testing.T) {
	inFakeTime(t, func(t *testing.T, f *fakeServer, open func(string) *websocket.Conn) {
		sess := f.start(t)
		tracer := f.run().tracer
		c := open("/api/v1/sessions/" + sess.id + "/trace")
		send(t, c, `{"watch":["flush"]}`)
		send(t, c, `{"arm":"creditAdded","when":"credit >= 2"}`)
		await(t, c, func(m map[string]any) bool { return len(m["armed"].(map[string]any)) == 1 })

		passed := make(chan int, 10)
		go func() {
			for credit := range 4 {
				tracer.Hit(trace.Flush, "flusher", trace.Int("n", credit))
				tracer.Hit(trace.CreditAdded, "source 0", trace.Int("credit", credit))
				passed <- credit
			}
			close(passed)
		}()
		// Credit 0 and 1 pass, 2 stops.
		m := await(t, c, func(m map[string]any) bool { return len(stopped(m)) == 1 })
		event := stopped(m)[0].(map[string]any)["event"].(map[string]any)
		if event["name"] != "creditAdded" || event["fields"].(map[string]any)["credit"] != 2.0 {
			t.Errorf("stopped at %v", event)
		}
		if m["counts"].(map[string]any)["flush"] != 3.0 {
			t.Errorf("counts %v", m["counts"])
		}
		if n := len(passed); n != 2 {
			t.Errorf("%d passed before the breakpoint", n)
		}
		// A step goes to the next tracepoint that the thread of that name hits.
		id, _ := json.Marshal(stopped(m)[0].(map[string]any)["id"])
		send(t, c, `{"step":`+string(id)+`}`)
		m = await(t, c, func(m map[string]any) bool {
			return len(stopped(m)) == 1 && stopped(m)[0].(map[string]any)["event"].(map[string]any)["fields"].(map[string]any)["credit"] == 3.0
		})
		if m["error"] != nil {
			t.Error(m["error"])
		}
		send(t, c, `{"arm":"nope"}`)
		await(t, c, func(m map[string]any) bool { return m["error"] != nil })
		// Whatever a viewer stopped goes on when it leaves.
		_ = c.CloseNow()
		n := 0
		for range passed {
			n++
		}
		if n != 4 {
			t.Errorf("%d of 4 passed", n)
		}
	})
}
