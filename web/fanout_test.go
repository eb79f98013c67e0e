package web

import (
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"weir/web/delta"
)

func TestNextBeat(t *testing.T) {
	start := time.Unix(1000, 0)
	for _, c := range []struct{ now, want time.Duration }{
		{0, 100 * time.Millisecond}, {99 * time.Millisecond, 100 * time.Millisecond}, {100 * time.Millisecond, 200 * time.Millisecond},
		{1234 * time.Millisecond, 1300 * time.Millisecond},
	} {
		if got := nextBeat(start, start.Add(c.now), 100*time.Millisecond).Sub(start); got != c.want {
			t.Errorf("after %v the beat is at %v, want %v", c.now, got, c.want)
		}
	}
}

// Viewers that came at different times are sent the same picture at the same beat, so that a picture is taken and encoded
// once however many there are.
func TestViewersOfOneBeatCostOnePicture(t *testing.T) {
	inFakeTime(t, func(t *testing.T, f *fakeServer, open func(string) *websocket.Conn) {
		sess := f.start(t)
		var mu sync.Mutex
		moments := map[time.Time]map[any]bool{} // what was shown at an instant
		sent := 0
		var readers sync.WaitGroup
		for i := range 20 {
			time.Sleep(time.Duration(i*7%13) * time.Millisecond) // they do not come together
			c := open("/api/v1/sessions/" + sess.id + "/stream?hz=10")
			readers.Go(func() {
				read(t, c)
				for range 20 {
					clock := read(t, c)["timeMs"]
					mu.Lock()
					now := time.Now()
					if moments[now] == nil {
						moments[now] = map[any]bool{}
					}
					moments[now][clock] = true
					sent++
					mu.Unlock()
				}
			})
		}
		readers.Wait()
		for at, clocks := range moments {
			if len(clocks) != 1 {
				t.Errorf("at %v viewers were shown the moments %v", at, clocks)
			}
		}
		// 20 beats and those in which they came, and a look for those that came between two.
		if n := f.run().looks.Load(); n > 28 || sent != 400 {
			t.Errorf("%d messages cost %d looks", sent, n)
		}
		if n := len(sess.frames.last.merges); n > 2 {
			t.Errorf("the last picture was encoded %d times", n)
		}
	})
}

// A viewer that stops reading costs the others no picture, and gets the newest when it returns.
func TestStoppedViewerCostsTheOthersNothing(t *testing.T) {
	inFakeTime(t, func(t *testing.T, f *fakeServer, open func(string) *websocket.Conn) {
		sess := f.start(t)
		stopped := open("/api/v1/sessions/" + sess.id + "/stream?hz=10")
		var behind any = read(t, stopped)
		other := open("/api/v1/sessions/" + sess.id + "/stream?hz=10")
		var newest any = read(t, other)
		start := time.Now()
		for range 30 {
			newest = delta.Merge(newest, read(t, other))
		}
		if took := time.Since(start); took > 3100*time.Millisecond {
			t.Errorf("30 pictures at 10 Hz took %v beside a viewer that reads nothing", took)
		}
		skipped := 0.0
		for range 3 {
			m := read(t, stopped)
			behind = delta.Merge(behind, m)
			if n, ok := m["skipped"].(float64); ok {
				skipped += n
			}
		}
		newest = delta.Merge(newest, read(t, other))
		if x, y := behind.(map[string]any)["timeMs"].(float64), newest.(map[string]any)["timeMs"].(float64); x < y-100 {
			t.Errorf("the viewer that returned is at %v, the other at %v", x, y)
		}
		if skipped < 25 || int64(skipped) != f.streams.dropped.Load() {
			t.Errorf("%v pictures were skipped, the server counted %d", skipped, f.streams.dropped.Load())
		}
		w := f.ask(httptest.NewRequest("GET", "/metrics", nil))
		for _, want := range []string{"weir_stream_viewers 2\n", "weir_stream_connections_total 2\n", "# TYPE weir_stream_dropped_frames_total counter\n"} {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("the metrics lack %q", want)
			}
		}
	})
}

// What a viewer missed is in front of the fields that all get.
func TestSkippedIsTheViewersOwn(t *testing.T) {
	one := &frame{seq: 1, tree: delta.Tree{"a": "x"}}
	two := &frame{seq: 2, tree: delta.Tree{"a": "y"}}
	same := &frame{seq: 3, tree: delta.Tree{"a": "y"}}
	for _, c := range []struct {
		name     string
		seen, to *frame
		skipped  int64
		want     string
	}{
		{"the whole picture", nil, one, 0, `{"a":"x"}`},
		{"a difference", one, two, 0, `{"a":"y"}`},
		{"a difference and what was missed", one, two, 7, `{"skipped":7,"a":"y"}`},
		{"nothing new, and what was missed", two, same, 7, `{"skipped":7}`},
		{"nothing new", two, same, 0, ``},
		{"the same picture", two, two, 0, ``},
	} {
		b, err := c.to.message(c.seen, c.skipped)
		if err != nil || string(b) != c.want {
			t.Errorf("%s: %s (%v), want %s", c.name, b, err, c.want)
		}
	}
}
