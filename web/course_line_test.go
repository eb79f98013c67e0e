package web

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
)

// An open page keeps a place that nobody asks for. When its turn comes it is passed over if it still does not ask, and the
// next free place is its own.
func TestAnOpenPageKeepsThePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := map[string]bool{"a": true, "b": true}
		q := newQueue(func(who string) bool { return open[who] })
		for i, who := range []string{"a", "b", "c"} {
			if place, _ := q.ask(who, 0); place != i+1 {
				t.Fatal(who, place)
			}
		}
		time.Sleep(10 * time.Minute)
		if place, turn := q.look("a", 0); place != 1 || turn {
			t.Errorf("a: %d %t", place, turn)
		}
		if place, _ := q.look("c", 0); place != 0 {
			t.Errorf("c has gone and is at %d", place)
		}
		if place, turn := q.look("b", 1); place != 2 || turn {
			t.Errorf("b is before a: %d %t", place, turn)
		}
		if _, turn := q.look("a", 1); !turn {
			t.Error("a is not told")
		}
		time.Sleep(queuePatience)
		if _, ok := q.ask("b", 1); ok {
			t.Error("a is passed over too soon")
		}
		time.Sleep(time.Second)
		if place, ok := q.ask("b", 1); !ok {
			t.Errorf("a holds up b, at %d", place)
		}
		if place, turn := q.look("a", 1); place != 1 || !turn {
			t.Errorf("a has lost the place: %d %t", place, turn)
		}
		q.ask("d", 0)
		if _, ok := q.ask("a", 1); !ok || q.length() != 1 {
			t.Error("the place after b's is not a's")
		}
		q.leave("d")
		if n := q.length(); n != 0 {
			t.Errorf("%d wait after d has left", n)
		}
		q.ask("a", 0)
		time.Sleep(longestWait + time.Second)
		if n := q.length(); n != 0 {
			t.Error("a page that never asks waits for ever")
		}
	})
}

// The class's stream tells a page at which place it waits, and when it is its turn: also after a freeze of all pages, in
// which asking is refused.
func TestTheStreamTellsWhoseTurnItIs(t *testing.T) {
	f, k, teacher := newFakeClass(t, ClassLimits{Sessions: 1})
	ann, ben := f.joined(t, k.ID, "Ann"), f.joined(t, k.ID, "Ben")
	n := httptest.NewServer(f)
	t.Cleanup(n.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(n.URL, "http")+"/api/v1/class/live", &websocket.DialOptions{
		HTTPHeader: http.Header{"Cookie": {personCookie + "=" + ben.token}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	until := func(what string, is func(classLive) bool) {
		t.Helper()
		for {
			_, b, err := conn.Read(ctx)
			var l classLive
			if err == nil {
				err = json.Unmarshal(b, &l)
			}
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if is(l) {
				return
			}
		}
	}
	first := f.startAs(t, ann).id
	if p := problemIn(t, f.as(ben.token, "POST", "/api/v1/sessions", `{"lab":"backpressure"}`)); p.Place != 1 {
		t.Fatalf("%+v", p)
	}
	until("in line", func(l classLive) bool { return l.Line == 1 && !l.Turn })
	for _, row := range answerOf[classWall](t, f.as(teacher, "GET", "/api/v1/class/wall", ""), 200).Rows {
		if want := map[string]int{"Ben": 1}[row.Name]; row.Line != want {
			t.Errorf("%s is at %d on the wall, want %d", row.Name, row.Line, want)
		}
	}
	f.as(teacher, "POST", "/api/v1/class/freeze", `{"frozen":true}`)
	until("frozen", func(l classLive) bool { return l.Frozen })
	f.as(ann.token, "DELETE", "/api/v1/sessions/"+first, "")
	f.as(teacher, "POST", "/api/v1/class/freeze", `{"frozen":false}`)
	until("the turn", func(l classLive) bool { return l.Line == 1 && l.Turn && !l.Frozen })
	if w := f.as(ben.token, "DELETE", "/api/v1/class/line", ""); w.Code != http.StatusNoContent {
		t.Error(w.Code)
	}
	until("out of the line", func(l classLive) bool { return l.Line == 0 && !l.Turn })
}
