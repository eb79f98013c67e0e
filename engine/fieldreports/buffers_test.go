package fieldreports_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/engine/job"
	"weir/engine/memory"
	"weir/engine/serde"
)

// Report 5: with no exclusive and one floating buffer the only buffer of a gate must not stay with a channel that an
// aligned barrier blocks. Three task managers, so that each gate has two channels to others.
func TestReport5ZeroExclusiveBuffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, keys = 60000, 90
		s := settings()
		s.Parallelism, s.TaskManagers, s.Keys, s.Rate = 3, 3, keys, 6000
		s.ExclusiveBuffers, s.FloatingBuffers, s.CheckpointIntervalMs = 0, 1, 1000
		j := start(t, graph(serde.Long, generator(n), counting(serde.Long)), s, job.Options{})
		time.Sleep(5 * time.Second)
		remote := 0
		for _, c := range j.Snapshot().Channels {
			if c.Kind != "remote" {
				continue
			}
			remote++
			if c.Consumer.ExclusiveFree != 0 || c.Consumer.FloatingHeld > 1 {
				t.Errorf("%v -> %v: %+v", c.From, c.To, *c.Consumer)
			}
		}
		if remote != 6 {
			t.Errorf("%d remote channels, want 6", remote)
		}
		<-j.Done()
		if err := j.Err(); err != nil {
			t.Fatal(err)
		}
		snap := j.Snapshot()
		if snap.TimeMs > 11_000 {
			t.Errorf("it took %d ms, the rate alone takes 10 s", snap.TimeMs)
		}
		completed := 0
		for _, c := range snap.Checkpoints {
			if c.Status == "COMPLETED" && c.EndToEndDurationMs < 500 {
				completed++
			}
		}
		if completed < 8 {
			t.Errorf("%d checkpoints completed within 500 ms: %+v", completed, snap.Checkpoints)
		}
		for k := range keys {
			want := int64(n / keys)
			if k < n%keys {
				want++
			}
			if got := snap.Totals.CountsByKey[fmt.Sprint(k)]; got != want {
				t.Errorf("key %d counted %d times, want %d", k, got, want)
			}
		}
	})
}

// Report 8: a pool shrinks from 7 to 5 while 7 segments are out, with an overdraft of 2: it is in overdraft at once,
// not available, and gives nothing more.
func TestReport8OverdraftOfAShrunkPool(t *testing.T) {
	g := memory.NewGlobalPool(64, 32<<10)
	p, err := g.CreateLocalPool(memory.PoolOptions{Required: 1, Max: 7, Subpartitions: 1, MaxBuffersPerSubpartition: 64, MaxOverdraft: 2})
	if err != nil {
		t.Fatal(err)
	}
	var out []*memory.Segment
	take := func() bool {
		s := p.Request(0)
		if s != nil {
			out = append(out, s)
		}
		return s != nil
	}
	giveBack := func() {
		out[0].Release()
		out = out[1:]
	}
	check := func(when string, requested, overdraft int, available bool) {
		t.Helper()
		st := p.Stats()
		if st.Requested != requested || st.Overdraft != overdraft || st.Overdraft != max(0, st.Requested-st.Size) ||
			st.Available != available || p.Available() != available {
			t.Errorf("%s: %+v, want %d requested, %d in overdraft, available %v", when, st, requested, overdraft, available)
		}
	}
	for range 7 {
		if check("on the way to 7", max(1, min(7, len(out)+1)), 0, true); !take() {
			t.Fatalf("refused with %d out", len(out))
		}
	}
	check("7 of 7 out", 7, 0, false)
	if err := p.SetSize(5); err != nil {
		t.Fatal(err)
	}
	check("shrunk to 5", 7, 2, false)
	if take() {
		t.Error("a third segment of overdraft")
	}
	giveBack()
	check("6 out", 6, 1, false)
	if !take() || take() {
		t.Error("one segment of overdraft was free, and one only")
	}
	check("7 out again", 7, 2, false)
	for range 2 {
		giveBack()
	}
	check("5 out", 5, 0, false)
	giveBack()
	check("4 out", 5, 0, true)
	for len(out) > 0 {
		giveBack()
	}
	p.Destroy()
	if g.Available() != 64 {
		t.Errorf("%d segments are back", g.Available())
	}
}

// Report 8, in a job: records of 64 KiB over segments of 32 KiB need overdraft, of which no more than the limit is ever
// out, and a pool in overdraft is never available.
func TestReport8RecordsLargerThanSegments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := settings()
		s.RecordBytes, s.Rate, s.Keys = 64<<10, 0, 16
		s.OverdraftBuffers, s.FloatingBuffers, s.ExclusiveBuffers = 2, 1, 1
		j := start(t, graph(serde.Long, generator(0), working(func() { time.Sleep(7 * time.Millisecond) })), s, job.Options{})
		highest := 0
		for range 500 {
			time.Sleep(9 * time.Millisecond)
			for _, p := range j.Snapshot().Pools {
				if !strings.Contains(p.Owner, "source") {
					continue
				}
				if p.OverdraftInUse != max(0, p.Requested-p.Size) || p.OverdraftInUse > s.OverdraftBuffers {
					t.Errorf("%+v", p)
				}
				if p.OverdraftInUse > 0 && p.Available > 0 {
					t.Errorf("%+v: segments lie ready in overdraft", p)
				}
				highest = max(highest, p.OverdraftInUse)
			}
		}
		if highest == 0 {
			t.Error("there was no overdraft")
		}
		if n := j.Snapshot().Vertices[1].Subtasks[0].NumRecordsIn; n < 300 {
			t.Errorf("%d records in 4.5 s at 7 ms", n)
		}
		j.Close()
	})
}
