package checkpoint

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"weir/engine/serde"
)

var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// TestAlignedScripts runs the scripts of the aligned handler. Each answer has the actions in order, then one line of
// what the handler knows.
func TestAlignedScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/aligned", func(t *testing.T, path string) {
		var h *BarrierHandler
		var fired, aborted []string
		now := epoch
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var ch, id, n int
			if d.HasArg("ch") {
				d.ScanArgs(t, "ch", &ch)
			}
			if d.HasArg("id") {
				d.ScanArgs(t, "id", &id)
			}
			if d.HasArg("n") {
				d.ScanArgs(t, "n", &n)
			}
			var actions []Action
			switch d.Cmd {
			case "new":
				h, fired, aborted, now = NewBarrierHandler(n), nil, nil, epoch
			case "barrier":
				created := now
				if d.HasArg("age") {
					var age int
					d.ScanArgs(t, "age", &age)
					created = now.Add(-time.Duration(age) * time.Millisecond)
				}
				actions = h.Barrier(ch, serde.CheckpointBarrier{ID: int64(id), Timestamp: created.UnixMilli(), Options: serde.AlignedOptions()}, now)
			case "cancel":
				actions = h.Cancel(ch, int64(id), now)
			case "end":
				actions = h.EndOfPartition(ch, now)
			case "data":
				h.Processed(n)
			case "wait":
				now = now.Add(time.Duration(n) * time.Millisecond)
			case "totals":
				return fmt.Sprintf("fired [%s], aborted [%s], latest %d\n", strings.Join(fired, " "), strings.Join(aborted, " "), h.Latest())
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			var b strings.Builder
			for _, a := range actions {
				switch a.Kind {
				case Trigger:
					fired = append(fired, fmt.Sprint(a.ID))
					fmt.Fprintf(&b, "trigger %d startDelay=%dms alignment=%dms bytes=%d\n", a.ID, a.StartDelayNs/1e6, a.AlignmentNs/1e6, a.BytesDuringAlignment)
				case Abort:
					aborted = append(aborted, fmt.Sprint(a.ID))
					fmt.Fprintf(&b, "abort %d: %s\n", a.ID, a.Reason)
				default:
					fmt.Fprintf(&b, "%s ch%d\n", a.Kind, a.Channel)
				}
			}
			fmt.Fprintln(&b, h)
			return b.String()
		})
	})
}

// TestAlignedChannelOutOfRange: a channel that is not there changes nothing.
func TestAlignedChannelOutOfRange(t *testing.T) {
	h := NewBarrierHandler(2)
	before := h.String()
	for _, ch := range []int{-1, 2} {
		if a := h.Barrier(ch, serde.CheckpointBarrier{ID: 1, Options: serde.AlignedOptions()}, epoch); len(a) != 0 {
			t.Errorf("barrier on channel %d: %v", ch, a)
		}
		if a := h.EndOfPartition(ch, epoch); len(a) != 0 {
			t.Errorf("end of channel %d: %v", ch, a)
		}
		if h.Blocked(ch) {
			t.Errorf("channel %d is blocked", ch)
		}
	}
	if h.String() != before {
		t.Errorf("%s, expected %s", h, before)
	}
}

// item is what a channel of the simulated gate holds: a record of an epoch, a barrier, a cancellation, or the end.
type item struct {
	kind rune // r b c e
	n    int64
}

// TestAlignedRandomHistories reads random channels through a gate that honours Block and Resume, and checks against what
// the definition of a checkpoint says: at its trigger everything before its barrier has been read on every channel, and
// nothing after it. It also checks that the gate is never stuck: a channel ending at any moment releases the others.
func TestAlignedRandomHistories(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 7))
		channels := 1 + r.IntN(4)
		queues := make([][]item, channels)
		upto := make([]int64, channels) // the last barrier in each channel
		for c := range queues {
			barriers := int64(r.IntN(5))
			for id := int64(1); id <= barriers; id++ {
				for range r.IntN(3) {
					queues[c] = append(queues[c], item{'r', id})
				}
				if r.IntN(12) == 0 {
					queues[c] = append(queues[c], item{'c', id})
				} else {
					queues[c] = append(queues[c], item{'b', id})
				}
			}
			upto[c] = barriers
			for range r.IntN(3) {
				queues[c] = append(queues[c], item{'r', barriers + 1})
			}
			queues[c] = append(queues[c], item{'e', 0})
		}
		h := NewBarrierHandler(channels)
		ended := make([]bool, channels)
		highest := make([]int64, channels) // epoch of the newest record read
		blocked := make([]bool, channels)
		settled := map[int64]bool{}
		var last int64
		for {
			var readable []int
			left := 0
			for c := range queues {
				left += len(queues[c])
				if len(queues[c]) > 0 && !blocked[c] {
					readable = append(readable, c)
				}
			}
			if left == 0 {
				break
			}
			if len(readable) == 0 {
				t.Fatalf("seed %d: stuck: %s", seed, h)
			}
			c := readable[r.IntN(len(readable))]
			it := queues[c][0]
			queues[c] = queues[c][1:]
			var actions []Action
			switch it.kind {
			case 'r':
				highest[c] = it.n
				h.Processed(1)
			case 'b':
				// An aligned barrier stops its producer until it is resumed.
				blocked[c] = true
				actions = h.Barrier(c, serde.CheckpointBarrier{ID: it.n, Options: serde.AlignedOptions()}, epoch)
			case 'c':
				actions = h.Cancel(c, it.n, epoch)
			case 'e':
				ended[c] = true
				actions = h.EndOfPartition(c, epoch)
			}
			for _, a := range actions {
				switch a.Kind {
				case Resume:
					blocked[a.Channel] = false
				case Trigger:
					if a.ID <= last || settled[a.ID] {
						t.Fatalf("seed %d: checkpoint %d fired after %d", seed, a.ID, last)
					}
					last, settled[a.ID] = a.ID, true
					for ch := range queues {
						if highest[ch] > a.ID {
							t.Fatalf("seed %d: checkpoint %d holds a record of channel %d from after its barrier", seed, a.ID, ch)
						}
						for _, rest := range queues[ch] {
							if rest.kind == 'r' && rest.n <= a.ID {
								t.Fatalf("seed %d: checkpoint %d lacks a record of channel %d from before its barrier", seed, a.ID, ch)
							}
						}
						if !ended[ch] && upto[ch] < a.ID {
							t.Fatalf("seed %d: checkpoint %d fired while channel %d was open without its barrier", seed, a.ID, ch)
						}
					}
				case Abort:
					settled[a.ID] = true
				}
			}
			for ch := range queues {
				if h.Blocked(ch) != blocked[ch] && !ended[ch] {
					t.Fatalf("seed %d: channel %d blocked=%v, the gate has %v", seed, ch, h.Blocked(ch), blocked[ch])
				}
			}
		}
		if id, ok := h.Pending(); ok {
			t.Fatalf("seed %d: checkpoint %d is pending after all channels ended", seed, id)
		}
	}
}

// TestAlignedAllocations: reading a checkpoint's barriers allocates nothing once the answer's slice has grown.
func TestAlignedAllocations(t *testing.T) {
	h := NewBarrierHandler(4)
	id := int64(0)
	if n := testing.AllocsPerRun(100, func() {
		id++
		for c := range 4 {
			h.Barrier(c, serde.CheckpointBarrier{ID: id, Options: serde.AlignedOptions()}, epoch)
		}
	}); n != 0 {
		t.Errorf("%v allocations a checkpoint, expected 0", n)
	}
}

// TestSubtask: a checkpoint that was aborted from above is cancelled when its barriers come, others are taken in order.
func TestSubtask(t *testing.T) {
	var s Subtask
	want := func(id int64, d Decision) {
		t.Helper()
		if got := s.Start(id); got != d {
			t.Errorf("start of %d: %s, expected %s", id, got, d)
		}
	}
	want(1, Snapshot)
	want(1, Ignore)
	if s.Aborted(2) {
		t.Error("2 has not been dealt with, expected its abort to be remembered")
	}
	want(2, SendCancel)
	if !s.Aborted(2) {
		t.Error("2 has been dealt with")
	}
	s.Aborted(3)
	want(4, Snapshot)
	want(3, Ignore)
	s.Gone(6)
	want(5, Ignore)
	if s.Last() != 6 {
		t.Errorf("last %d, expected 6", s.Last())
	}
	for id := int64(7); id < 1000; id++ {
		s.Aborted(id)
	}
	if len(s.aborted) != maxAborted {
		t.Errorf("%d ids remembered, expected %d", len(s.aborted), maxAborted)
	}
	want(999, SendCancel)
	if len(s.aborted) != 0 {
		t.Errorf("%d ids remembered after a newer checkpoint, expected 0", len(s.aborted))
	}
}
