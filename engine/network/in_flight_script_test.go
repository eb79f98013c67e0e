package network

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/datadriven"

	"weir/engine/memory"
	"weir/engine/serde"
)

// TestInFlightScripts runs the scripts of barriers that overtake data in the queue of a producer.
func TestInFlightScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/in_flight", func(t *testing.T, path string) {
		s := &inFlightScript{}
		datadriven.RunTest(t, path, s.run)
		s.checkNothingLost(t)
	})
}

// inFlightScript drives a subpartition as subpartitionScript does, and lists what barriers leave to be kept.
type inFlightScript struct{ subpartitionScript }

// keeper is the state of one checkpoint.
type keeper struct {
	s  *inFlightScript
	id int
}

func (k keeper) AddOutput(_ int, data []byte) {
	k.s.say("checkpoint %d keeps %d bytes", k.id, len(data))
}
func (k keeper) OutputDone(int) { k.s.say("checkpoint %d has all", k.id) }
func (k keeper) Fail(err error) { k.s.say("checkpoint %d fails: %v", k.id, err) }

func (s *inFlightScript) run(t *testing.T, d *datadriven.TestData) string {
	num := func(key string) (n int) {
		d.MaybeScanArgs(t, key, &n)
		return n
	}
	switch d.Cmd {
	case "barrier":
		s.happened = nil
		b := serde.CheckpointBarrier{ID: int64(num("id")), Options: serde.UnalignedOptions()}
		if ms := num("timeout"); ms > 0 {
			b.Options = serde.TimeoutableOptions(int64(ms))
		}
		err := s.sub.addBarrier(serde.MarshalEvent(b), serde.EventDataType(b, b.Options.IsUnaligned()), false, &waitingBarrier{b, keeper{s, num("id")}})
		if err != nil {
			s.say("error: %v", err)
		}
	case "timeout":
		s.happened = nil
		s.sub.timeoutBarrier(int64(num("id")))
	case "abort":
		s.happened = nil
		s.sub.abortBarrier(int64(num("id")))
	case "recover":
		s.happened = nil
		p := &ResultPartition{subs: []*Subpartition{s.sub}}
		var between *serde.SubtaskConnectionDescriptor
		if d.HasArg("from") {
			between = &serde.SubtaskConnectionDescriptor{InputSubtask: int32(num("to")), OutputSubtask: int32(num("from"))}
		}
		if err := p.Recover(0, [][]byte{make([]byte, num("bytes"))}, between, 1000); err != nil {
			s.say("error: %v", err)
		}
	case "finish-recovery":
		s.happened = nil
		p := &ResultPartition{subs: []*Subpartition{s.sub}}
		if err := p.FinishRecovery(); err != nil {
			s.say("error: %v", err)
		}
	default:
		return s.subpartitionScript.run(t, d)
	}
	return s.state() + fmt.Sprintf("overtaken=%d\n", s.sub.stats().Overtaken)
}

// TestCIG02ObsoleteBarrier: an older checkpoint was given up, and its barriers still come, in some channels after those of
// the newer one has begun. They end the keeping of data nowhere, whether the channels are read meanwhile or not.
func TestCIG02ObsoleteBarrier(t *testing.T) {
	for _, drain := range []bool{false, true} {
		t.Run(fmt.Sprintf("drain=%v", drain), func(t *testing.T) {
			global := newScriptPool()
			_, pool, channels := testChannels(t, global, 2, 4, 3)
			var seq [3]int32
			var stored [3]int
			put := func(ch int, b Buffer) {
				b.Seq = seq[ch]
				seq[ch]++
				if err := channels[ch].onBuffer(b, -1, "test"); err != nil {
					t.Fatal(err)
				}
			}
			data := func(ch int) { put(ch, Buffer{Bytes: []byte("data"), Type: serde.DataBuffer}) }
			barrier := func(ch int, id int64) {
				b := serde.CheckpointBarrier{ID: id, Options: serde.UnalignedOptions()}
				put(ch, Buffer{Bytes: serde.MarshalEvent(b), Type: serde.EventDataType(b, true)})
			}
			read := func() {
				for _, c := range channels {
					for drain {
						b, _, ok, err := c.Next()
						if err != nil {
							t.Fatal(err)
						}
						if !ok {
							break
						}
						b.Recycle()
					}
				}
			}
			want := func(w [3]int) {
				t.Helper()
				if stored != w {
					t.Errorf("stored %v buffers, want %v", stored, w)
				}
			}
			data(0)
			barrier(0, 2)
			data(0)
			data(1)
			barrier(1, 1)
			data(1)
			data(2)
			for ch, c := range channels {
				if err := c.CheckpointStarted(2, func([]byte) { stored[ch]++ }); err != nil {
					t.Fatal(err)
				}
			}
			want([3]int{1, 2, 1})
			data(0)
			data(1)
			data(2)
			read()
			want([3]int{1, 3, 2})
			barrier(1, 2)
			data(1)
			barrier(2, 1)
			data(2)
			read()
			want([3]int{1, 3, 3})
			barrier(2, 2)
			data(2)
			read()
			want([3]int{1, 3, 3})
			for _, c := range channels {
				c.CheckpointStopped(2)
				c.Release()
			}
			pool.Destroy()
		})
	}
}

// TestCIG03PriorityAgainstClose: a priority event races the end of its gate.
func TestCIG03PriorityAgainstClose(t *testing.T) {
	for range 100 {
		global := newScriptPool()
		_, pool, channels := testChannels(t, global, 2, 4, 2)
		gate := channels[0].o.Gate
		for _, c := range channels {
			gate.SetChannel(c)
		}
		urged := make(chan struct{}, 4)
		gate.SetOnPriority(func() { urged <- struct{}{} })
		done := make(chan struct{})
		go func() {
			defer close(done)
			<-urged
			b, _, ok, err := gate.PollPriority()
			if err != nil {
				t.Error(err)
			}
			if ok && !b.Type.HasPriority() {
				t.Errorf("%s, expected a priority event", b.Type)
			}
			b.Recycle()
		}()
		b := serde.CheckpointBarrier{ID: 1, Options: serde.UnalignedOptions()}
		if err := channels[0].onBuffer(Buffer{Bytes: serde.MarshalEvent(b), Type: serde.EventDataType(b, true)}, -1, "test"); err != nil {
			t.Fatal(err)
		}
		gate.Release()
		<-done
		pool.Destroy()
	}
}

// TestPollPriorityLeavesData: between two records only priority events are taken.
func TestPollPriorityLeavesData(t *testing.T) {
	global := newScriptPool()
	_, pool, channels := testChannels(t, global, 2, 4, 1)
	c := channels[0]
	gate := c.o.Gate
	gate.SetChannel(c)
	barrier := func(id int64) Buffer {
		b := serde.CheckpointBarrier{ID: id, Options: serde.UnalignedOptions()}
		return Buffer{Bytes: serde.MarshalEvent(b), Type: serde.EventDataType(b, true)}
	}
	for i, b := range []Buffer{{Bytes: []byte("data"), Type: serde.DataBuffer}, barrier(1), barrier(2)} {
		b.Seq = int32(i)
		if err := c.onBuffer(b, -1, "test"); err != nil {
			t.Fatal(err)
		}
	}
	for want := int32(1); want <= 2; want++ {
		if b, _, ok, err := gate.PollPriority(); err != nil || !ok || b.Seq != want {
			t.Fatalf("event %d, %v, %v, want %d", b.Seq, ok, err, want)
		}
	}
	if _, _, ok, _ := gate.PollPriority(); ok {
		t.Error("it took data")
	}
	if b, _, ok, err := gate.Poll(); err != nil || !ok || !b.IsData() {
		t.Errorf("the data is gone: %v, %v", ok, err)
	}
	if got := c.Stats().Overtaken; got != 2 {
		t.Errorf("%d overtaken, want 2: one buffer by two barriers", got)
	}
	c.Release()
	pool.Destroy()
}

func newScriptPool() *memory.GlobalPool { return memory.NewGlobalPool(32, 2048) }
