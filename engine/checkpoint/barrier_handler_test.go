package checkpoint

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"weir/engine/serde"
)

// TestBarrierHandlerScripts runs the scripts of unaligned checkpoints and of aligned ones with a timeout. Beside the handler
// there is a gate as simple as can be: what comes in a channel waits there until it is read, and while the handler has the
// data in flight persisted, what the channel's barrier has overtaken is counted as stored.
func TestBarrierHandlerScripts(t *testing.T) {
	for _, folder := range []string{"testdata/unaligned", "testdata/alternating"} {
		datadriven.Walk(t, folder, func(t *testing.T, path string) {
			s := &barrierScript{}
			datadriven.RunTest(t, path, s.run)
		})
	}
}

type barrierScript struct {
	h              *BarrierHandler
	now            time.Time
	channels       []scriptChannel
	persisting     bool
	b              strings.Builder
	fired, aborted []string
}

type scriptChannel struct {
	queued []int // bytes of each data buffer
	passed bool  // its barrier of the pending checkpoint has come, or its end
	stored int   // buffers
}

func (s *barrierScript) run(t *testing.T, d *datadriven.TestData) string {
	num := func(key string, otherwise int) int {
		d.MaybeScanArgs(t, key, &otherwise)
		return otherwise
	}
	ch, id, n := num("ch", 0), int64(num("id", 0)), num("n", 1)
	s.b.Reset()
	switch d.Cmd {
	case "new":
		*s = barrierScript{now: epoch, channels: make([]scriptChannel, n), h: NewBarrierHandler(n)}
		if d.HasArg("unaligned") {
			s.h = NewUnalignedHandler(n)
		}
	case "barrier":
		b := s.barrier(t, d)
		if p, ok := s.h.Pending(); ok && p == b.ID {
			s.channels[ch].passed = true
		} else if b.ID > s.h.Latest() {
			s.clear()
			s.channels[ch].passed = true
		}
		s.act(s.h.Barrier(ch, b, s.now))
	case "announce":
		s.act(s.h.Announcement(ch, s.barrier(t, d), int32(num("seq", 0)), s.now))
	case "cancel":
		s.act(s.h.Cancel(ch, id, s.now))
	case "give-up":
		s.act(s.h.GiveUp(id, BySubsumption))
	case "end":
		s.channels[ch].passed = true
		s.act(s.h.EndOfPartition(ch, s.now))
	case "arrive":
		c := &s.channels[ch]
		for range n {
			c.queued = append(c.queued, num("bytes", 100))
			if s.persisting && !c.passed {
				c.stored++
			}
		}
	case "read":
		c := &s.channels[ch]
		for range n {
			s.h.Processed(c.queued[0])
			c.queued = c.queued[1:]
		}
	case "wait":
		s.now = s.now.Add(time.Duration(num("ms", 0)) * time.Millisecond)
		if at, ok := s.h.NextTimer(); ok && !d.HasArg("late") && !s.now.Before(at) {
			s.act(s.h.Timeout(s.now))
		}
	case "timer":
		s.act(s.h.Timeout(s.now))
	case "rounds":
		return s.rounds(n)
	default:
		d.Fatalf(t, "unknown command %s", d.Cmd)
	}
	return s.state()
}

// barrier reads a barrier from a command: its id, its age in ms, and its kind.
func (s *barrierScript) barrier(t *testing.T, d *datadriven.TestData) serde.CheckpointBarrier {
	var id, age, timeout int
	d.ScanArgs(t, "id", &id)
	d.MaybeScanArgs(t, "age", &age)
	b := serde.CheckpointBarrier{ID: int64(id), Timestamp: s.now.Add(-time.Duration(age) * time.Millisecond).UnixMilli(), Options: serde.AlignedOptions()}
	switch {
	case d.HasArg("unaligned"):
		b.Options = serde.UnalignedOptions()
	case d.HasArg("savepoint"):
		b.Options.Type = serde.Savepoint
	case d.HasArg("timeout"):
		d.ScanArgs(t, "timeout", &timeout)
		b.Options = serde.TimeoutableOptions(int64(timeout))
	}
	return b
}

func (s *barrierScript) clear() {
	for i := range s.channels {
		s.channels[i].passed = false
	}
}

func (s *barrierScript) act(actions []Action) {
	for _, a := range actions {
		switch a.Kind {
		case Trigger:
			s.fired = append(s.fired, fmt.Sprint(a.ID))
			fmt.Fprintf(&s.b, "trigger %d %s startDelay=%dms alignment=%dms bytes=%d\n", a.ID, a.Barrier.Options.Alignment, a.StartDelayNs/1e6, a.AlignmentNs/1e6, a.BytesDuringAlignment)
		case Abort:
			s.aborted = append(s.aborted, fmt.Sprint(a.ID))
			fmt.Fprintf(&s.b, "abort %d: %s\n", a.ID, a.Reason)
		case StartPersisting:
			s.persisting = true
			for i := range s.channels {
				s.channels[i].stored += len(s.channels[i].queued)
			}
			fmt.Fprintf(&s.b, "start persisting %d\n", a.ID)
		case StopPersisting:
			s.persisting = false
			if a.Complete {
				fmt.Fprintf(&s.b, "persisted %d alignment=%dms bytes=%d\n", a.ID, a.AlignmentNs/1e6, a.BytesDuringAlignment)
			} else {
				for i := range s.channels {
					s.channels[i].stored = 0
				}
				fmt.Fprintf(&s.b, "stop persisting %d\n", a.ID)
			}
		case Prioritize:
			fmt.Fprintf(&s.b, "prioritize ch%d seq=%d\n", a.Channel, a.Seq)
		default:
			fmt.Fprintf(&s.b, "%s ch%d\n", a.Kind, a.Channel)
		}
	}
}

func (s *barrierScript) state() string {
	fmt.Fprintln(&s.b, s.h)
	fmt.Fprintf(&s.b, "fired [%s], aborted [%s], stored", strings.Join(s.fired, " "), strings.Join(s.aborted, " "))
	for _, c := range s.channels {
		fmt.Fprintf(&s.b, " %d", c.stored)
	}
	if at, ok := s.h.NextTimer(); ok {
		fmt.Fprintf(&s.b, ", timer in %d ms", at.Sub(s.now).Milliseconds())
	}
	s.b.WriteByte('\n')
	return s.b.String()
}

// rounds sends n barriers in every channel, by turns of checkpoints and savepoints.
func (s *barrierScript) rounds(n int) string {
	var fired []int64
	for id := int64(0); id < int64(n); id++ {
		b := serde.CheckpointBarrier{ID: id, Timestamp: s.now.UnixMilli(), Options: serde.AlignedOptions()}
		if id%2 == 1 {
			b.Options.Type = serde.Savepoint
		}
		for ch := range s.channels {
			for _, a := range s.h.Barrier(ch, b, s.now) {
				if a.Kind == Trigger {
					fired = append(fired, a.ID)
				}
			}
		}
	}
	for i, id := range fired {
		if id != int64(i) {
			return fmt.Sprintf("checkpoint %d fired as number %d\n", id, i)
		}
	}
	return fmt.Sprintf("%d fired, each once and in order\n%s\n", len(fired), s.h)
}
