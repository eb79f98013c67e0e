package trace

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// worker hits points on command, as an engine's goroutine would.
type worker struct {
	name string
	t    *Tracer
	work chan func()
	done int // hits that returned
}

func startWorker(t *Tracer, name string) *worker {
	w := &worker{name: name, t: t, work: make(chan func(), 100)}
	go func() {
		for f := range w.work {
			f()
			w.done++
		}
	}()
	return w
}

func (w *worker) hit(p Point, fields ...Field) {
	w.work <- func() {
		if w.t.On(p) {
			w.t.Hit(p, w.name, fields...)
		}
	}
}

func stopNames(tr *Tracer) string {
	var names []string
	for _, s := range tr.Stopped() {
		names = append(names, s.Event.Thread+" at "+s.Event.Point.String())
	}
	return strings.Join(names, ", ")
}

func mustParse(t *testing.T, s string) Condition {
	t.Helper()
	c, err := ParseCondition(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// bubble runs f in fake time with two workers that end with it.
func bubble(t *testing.T, f func(tr *Tracer, a, b *worker)) {
	synctest.Test(t, func(t *testing.T) {
		tr := New()
		a, b := startWorker(tr, "source 0"), startWorker(tr, "slow-map 1")
		f(tr, a, b)
		tr.Close()
		close(a.work)
		close(b.work)
		synctest.Wait()
	})
}

func expectStopped(t *testing.T, tr *Tracer, want string) {
	t.Helper()
	synctest.Wait()
	if got := stopNames(tr); got != want {
		t.Errorf("stopped: %q, want %q", got, want)
	}
}

func TestBreakpointStopsOnlyTheThreadThatHitsIt(t *testing.T) {
	bubble(t, func(tr *Tracer, a, b *worker) {
		v := tr.Attach()
		if err := v.Arm(CreditAdded, Condition{}); err != nil {
			t.Fatal(err)
		}
		a.hit(CreditAdded, Int("credit", 2))
		expectStopped(t, tr, "source 0 at creditAdded")
		for range 5 {
			b.hit(Flush)
			b.hit(RecordEmitted)
		}
		time.Sleep(time.Second)
		expectStopped(t, tr, "source 0 at creditAdded")
		if b.done != 10 {
			t.Errorf("the other thread made %d of 10 steps", b.done)
		}
		b.hit(CreditAdded)
		expectStopped(t, tr, "source 0 at creditAdded, slow-map 1 at creditAdded")

		first := tr.Stopped()[0]
		if f, _ := first.Event.Field("credit"); f.Num != 2 {
			t.Errorf("fields %v", first.Event.Fields)
		}
		if err := v.Resume(first.ID); err != nil {
			t.Error(err)
		}
		expectStopped(t, tr, "slow-map 1 at creditAdded")
		if err := v.Resume(first.ID); err == nil {
			t.Error("a second resume of the same stop is no error")
		}
		v.Disarm(CreditAdded)
		expectStopped(t, tr, "slow-map 1 at creditAdded")
		a.hit(CreditAdded)
		expectStopped(t, tr, "slow-map 1 at creditAdded")
		v.ResumeAll()
		expectStopped(t, tr, "")
		if a.done != 2 || b.done != 11 {
			t.Errorf("done %d and %d", a.done, b.done)
		}
	})
}

func TestStepStopsTheSameThreadAtItsNextPoint(t *testing.T) {
	bubble(t, func(tr *Tracer, a, b *worker) {
		v := tr.Attach()
		v.Arm(RecordEmitted, mustParse(t, "subpartition == 1"))
		a.hit(RecordEmitted, Int("subpartition", 0))
		a.hit(RecordEmitted, Int("subpartition", 1))
		a.hit(Flush)
		a.hit(ReaderPolled)
		a.hit(ReaderPolled)
		expectStopped(t, tr, "source 0 at recordEmitted")
		v.Step(tr.Stopped()[0].ID)
		b.hit(ReaderPolled) // another thread: not stopped, and not recorded either
		expectStopped(t, tr, "source 0 at flush")
		if !tr.Stopped()[0].Stepped {
			t.Error("not marked as stepped")
		}
		v.Step(tr.Stopped()[0].ID)
		expectStopped(t, tr, "source 0 at readerPolled")
		v.Resume(tr.Stopped()[0].ID)
		expectStopped(t, tr, "")
		if a.done != 5 || b.done != 1 {
			t.Errorf("done %d and %d", a.done, b.done)
		}
		if got := tr.Counts(); got["recordEmitted"] != 2 || got["readerPolled"] != 1 || got["flush"] != 1 {
			t.Errorf("counts %v", got)
		}
		if tr.On(Flush) {
			t.Error("points that only a step needed are still on")
		}
	})
}

func TestThreadsAreReleasedWhenTheViewerGoes(t *testing.T) {
	bubble(t, func(tr *Tracer, a, b *worker) {
		v, other := tr.Attach(), tr.Attach()
		v.Arm(Flush, Condition{})
		other.Arm(ReaderPolled, Condition{})
		a.hit(Flush)
		synctest.Wait() // stops are listed in their order
		b.hit(ReaderPolled)
		expectStopped(t, tr, "source 0 at flush, slow-map 1 at readerPolled")
		v.Close()
		v.Close()
		expectStopped(t, tr, "slow-map 1 at readerPolled")
		if _, open := <-v.Changed(); open {
			<-v.Changed() // the stop's signal was still there
		}
		if tr.On(Flush) || !tr.On(ReaderPolled) {
			t.Error("the mask does not follow the viewers")
		}
		// A step of a viewer that goes is forgotten.
		other.Step(tr.Stopped()[0].ID)
		other.Close()
		b.hit(Debloated)
		expectStopped(t, tr, "")
		if err := v.Arm(Flush, Condition{}); err != nil || tr.On(Flush) {
			t.Error("a viewer that is gone can arm")
		}
	})
}

func TestCloseAndDisarmAllReleaseEverything(t *testing.T) {
	bubble(t, func(tr *Tracer, a, b *worker) {
		v := tr.Attach()
		v.Watch(Flush)
		v.Arm(Flush, Condition{})
		a.hit(Flush)
		a.hit(Flush)
		synctest.Wait()
		b.hit(Flush)
		expectStopped(t, tr, "source 0 at flush, slow-map 1 at flush")
		tr.DisarmAll()
		expectStopped(t, tr, "")
		if !tr.On(Flush) || len(v.Armed()) != 0 {
			t.Error("watching ended, or a breakpoint stayed")
		}
		v.Arm(Flush, Condition{})
		a.hit(Flush)
		expectStopped(t, tr, "source 0 at flush")
		tr.Close()
		expectStopped(t, tr, "")
		for range v.Changed() { // ends, since it is closed
		}
		if tr.On(Flush) || a.done != 3 {
			t.Errorf("still on, or done %d", a.done)
		}
		tr.Attach().Arm(Flush, Condition{})
		a.hit(Flush)
		expectStopped(t, tr, "")
	})
}

func TestChangedSignalsStopsAndResumes(t *testing.T) {
	bubble(t, func(tr *Tracer, a, _ *worker) {
		v := tr.Attach()
		v.Arm(Debloated, Condition{})
		a.hit(Debloated)
		<-v.Changed() // deadlocks the bubble if it never comes
		v.Resume(tr.Stopped()[0].ID)
		<-v.Changed()
	})
}

func TestRingsKeepRareEventsBesideBusyOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := New()
		v := tr.Attach()
		v.Watch(RecordEmitted, Debloated)
		time.Sleep(1500 * time.Microsecond)
		tr.Hit(Debloated, "slow-map 0", Int("size", 4096))
		for i := range 1000 {
			tr.Hit(RecordEmitted, "source 0", Int("subpartition", i%2), Int("n", i))
		}
		tr.Hit(Flush, "source 0") // not watched
		events := v.Events(0, -1)
		if len(events) != 1+ringEvents || events[0].Point != Debloated {
			t.Fatalf("%d events, the first %v", len(events), events[0].Point)
		}
		for i, e := range events[1:] {
			if n, _ := e.Field("n"); n.Num != int64(1000-ringEvents+i) {
				t.Fatalf("event %d is %v", i, e)
			}
		}
		if got := v.Events(events[len(events)-3].Seq, 1); len(got) != 1 || got[0].Seq != 1001 {
			t.Errorf("the last one of two: %v", got)
		}
		if c := tr.Counts(); c["recordEmitted"] != 1000 || c["debloated"] != 1 || len(c) != 2 {
			t.Errorf("counts %v", c)
		}
		text, err := json.Marshal(events[0])
		if want := `{"seq":1,"name":"debloated","thread":"slow-map 0","timeMs":1.500,"fields":{"size":4096}}`; err != nil || string(text) != want {
			t.Errorf("%s %v", text, err)
		}
	})
}

func TestManyThreadsAndViewers(t *testing.T) {
	tr := New()
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for i := range 4 {
		wg.Go(func() {
			name := "task " + strconv.Itoa(i)
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if p := Point(n % int(numPoints)); tr.On(p) {
					tr.Hit(p, name, Int("n", n))
				}
			}
		})
	}
	for range 200 { // viewers that come and go
		v := tr.Attach()
		v.Watch(Points()...)
		v.Arm(CreditAdded, Condition{})
		v.Arm(Flush, mustParse(t, "n > 10 && thread != \"task 2\""))
		<-v.Changed()
		for _, s := range tr.Stopped() {
			v.Step(s.ID)
		}
		v.Events(0, 10)
		v.Close()
	}
	close(stop)
	tr.Close()
	wg.Wait()
	if left := tr.Stopped(); len(left) != 0 {
		t.Errorf("still stopped: %v", left)
	}
}

func TestPointNames(t *testing.T) {
	for _, p := range Points() {
		if got, err := ParsePoint(p.String()); err != nil || got != p {
			t.Errorf("%v: %v %v", p, got, err)
		}
	}
	if _, err := ParsePoint("nonsense"); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("error %v", err)
	}
	if err := New().Attach().Arm(numPoints, Condition{}); err == nil {
		t.Error("a point that does not exist was armed")
	}
}

func TestConditions(t *testing.T) {
	e := &Event{Point: BufferReceived, Thread: "slow-map 1", Fields: []Field{Int("channel", 1), Int("size", 2048), Str("kind", "remote")}}
	for _, c := range []struct {
		text  string
		holds bool
	}{
		{"", true}, {"channel == 1", true}, {"channel==0", false}, {"channel != 0", true}, {"size >= 2048", true},
		{"size > 2048", false}, {"size <= 2048 && channel < 2", true}, {"size < 2048 && channel == 1", false},
		{"kind == remote", true}, {`kind != "local"`, true}, {`thread == "slow-map 1"`, true}, {"name == bufferReceived", true},
		{"credit == 0", false}, {"credit != 0", false}, {"kind == 5", false}, {"kind > 5", false}, {"size == -1", false},
	} {
		parsed := mustParse(t, c.text)
		if got := parsed.Holds(e); got != c.holds {
			t.Errorf("%q: %v", c.text, got)
		}
		if again := mustParse(t, parsed.String()); again.String() != parsed.String() {
			t.Errorf("%q became %q", parsed, again)
		}
	}
	for _, bad := range []string{"channel", "== 1", "channel ==", "kind > local", "a == 1 &&"} {
		if _, err := ParseCondition(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func FuzzParseCondition(f *testing.F) {
	f.Add("channel == 1 && size >= 2048")
	f.Add(`thread != "a"`)
	f.Fuzz(func(t *testing.T, s string) {
		if c, err := ParseCondition(s); err == nil {
			c.Holds(&Event{Thread: "x"})
		}
	})
}

func TestOffCostsNoAllocation(t *testing.T) {
	tr := New()
	var none *Tracer
	n := 0
	if got := testing.AllocsPerRun(1000, func() {
		n++
		if tr.On(RecordEmitted) {
			tr.Hit(RecordEmitted, "source 0", Int("n", n), Str("why", "test"))
		}
		if none.On(Flush) {
			none.Hit(Flush, "source 0", Int("n", n))
		}
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
	none.Close()
	none.DisarmAll()
	none.Hit(Flush, "source 0")
}

func BenchmarkOff(b *testing.B) {
	tr := New()
	b.ReportAllocs()
	for b.Loop() {
		if tr.On(RecordEmitted) {
			tr.Hit(RecordEmitted, "source 0", Int("n", b.N))
		}
	}
}

func BenchmarkWatched(b *testing.B) {
	tr := New()
	v := tr.Attach()
	defer v.Close()
	v.Watch(RecordEmitted)
	b.ReportAllocs()
	for b.Loop() {
		if tr.On(RecordEmitted) {
			tr.Hit(RecordEmitted, "source 0", Int("n", b.N))
		}
	}
}
