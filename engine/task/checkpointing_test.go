package task

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/memory"
	"weir/engine/metric"
	"weir/engine/network"
	"weir/engine/serde"
)

// middle is a task between producers, one for each channel, and a consumer. The test takes its steps and plays the others.
type middle struct {
	*Task
	t       *testing.T
	seen    *seen
	hears   *hears
	from    []*network.RecordWriter
	inputs  []*network.ResultPartition
	sink    *network.Gate
	decoder serde.Deserializer
}

// newMiddle makes the task in a bubble of fake time, with local or remote channels. Barriers may overtake in its output.
func newMiddle(t *testing.T, channels int, remote bool) *middle {
	t.Helper()
	global := memory.NewGlobalPool(8+8*channels, 1024)
	pool := func(subpartitions int) *memory.LocalPool {
		p, err := global.CreateLocalPool(memory.PoolOptions{Required: 1, Max: 8, Subpartitions: subpartitions, MaxBuffersPerSubpartition: 10})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	manager, transport := network.NewPartitionManager(), network.NewMemory()
	connect := func(name string) *network.ConnectionManager {
		c, err := network.NewConnectionManager(network.ConnectionOptions{Name: name, Transport: transport, Provider: manager, Vertices: []string{"source"}})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	there, here := connect("tm 0"), connect("tm 1")
	m := &middle{t: t, seen: &seen{}, hears: &hears{}, sink: network.NewGate(1, nil, func() {}), decoder: serde.NewDeserializer(recoverySchema)}
	partition := func(vertex string, subtask int) (*network.ResultPartition, *network.RecordWriter) {
		p := network.NewResultPartition(network.PartitionID{Vertex: vertex, Subtask: subtask}, 1, pool(1), 0)
		manager.Register(p)
		return p, network.NewRecordWriter(p, network.WriterOptions{Schema: recoverySchema})
	}
	mailbox := NewMailbox()
	gate := network.NewGate(channels, pool(0), mailbox.Wake)
	s := Defaults()
	s.BufferTimeoutMs = -1
	c := Config{Vertex: "middle", Gate: gate, Local: make([]bool, channels), Input: recoverySchema, Mailbox: mailbox, Times: metric.NewTaskTimes(),
		Logger: slog.New(slog.DiscardHandler), Listener: m.hears, Operators: []OperatorFactory{{Name: "seen", New: func() Operator { return m.seen }}},
		Context: Context{Vertex: "middle", Parallelism: 1, MaxParallelism: 128, KeyGroups: allKeys, Settings: &s}, UnalignedOutput: true}
	c.Partition, c.Writer = partition("middle", 0)
	m.Task = New(c)
	for i := range channels {
		p, w := partition("source", i)
		m.from, m.inputs = append(m.from, w), append(m.inputs, p)
		if !remote {
			ch, err := network.NewLocalChannel(gate, i, manager, p.ID, 0)
			if err != nil {
				t.Fatal(err)
			}
			gate.SetChannel(ch)
			continue
		}
		ch := network.NewRemoteChannel(network.RemoteChannelOptions{Index: i, Gate: gate, Global: global, ExclusiveBuffers: 2, Partition: p.ID, Addr: there.Addr(), Connections: here})
		if err := ch.Setup(context.Background()); err != nil {
			t.Fatal(err)
		}
		gate.SetChannel(ch)
		if err := ch.Request(); err != nil {
			t.Fatal(err)
		}
	}
	out, err := network.NewLocalChannel(m.sink, 0, manager, c.Partition.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	m.sink.SetChannel(out)
	if err := m.open(); err != nil {
		t.Fatal(err)
	}
	m.startShells()
	t.Cleanup(func() {
		m.stopShells()
		m.close()
		gate.Release()
		m.sink.Release()
		for i, p := range m.inputs {
			m.from[i].Close()
			p.Release()
		}
		m.Partition.Release()
		here.Close()
		there.Close()
		if global.Available() != global.Total() {
			t.Errorf("%d of %d segments are back", global.Available(), global.Total())
		}
	})
	return m
}

// send writes to a channel and makes it readable: a number is a record's key, all else a barrier or an event.
func (m *middle) send(channel int, what ...any) {
	m.t.Helper()
	for _, x := range what {
		var err error
		switch x := x.(type) {
		case int:
			err = m.from[channel].Collect(&serde.Record{Key: serde.Key{Num: int64(x)}})
		case []byte: // bytes of a record
			err = m.inputs[channel].Recover(0, [][]byte{x}, nil, 1024)
		case serde.CheckpointBarrier:
			err = m.from[channel].BroadcastBarrier(x, checkpoint.NewInFlight(x.ID, 1))
		case serde.Event:
			err = m.from[channel].BroadcastEvent(x, false)
		}
		if err != nil {
			m.t.Fatal(err)
		}
	}
	m.from[channel].FlushAll()
}

// run lets the task do all that it can now.
func (m *middle) run() {
	m.t.Helper()
	for {
		synctest.Wait()
		m.Mailbox.Run()
		if m.failed != nil {
			m.t.Fatal(m.failed)
		}
		m.Mailbox.priority.Store(false)
		if err := m.processPriority(); err != nil {
			m.t.Fatal(err)
		}
		got, err := m.process()
		if err != nil {
			m.t.Fatal(err)
		}
		synctest.Wait()
		if got != more && m.Gate.Queued() == 0 {
			return
		}
	}
}

// output is what the consumer finds: keys, barriers with their kind, cancellations.
func (m *middle) output() string {
	m.t.Helper()
	m.Partition.FlushAll()
	var out []string
	for {
		b, _, ok, err := m.sink.Poll()
		if err != nil {
			m.t.Fatal(err)
		}
		if !ok {
			return strings.Join(out, ", ")
		}
		if b.IsData() {
			m.decoder.SetBuffer(b.Bytes)
			var r serde.Record
			for _, ok, _ := m.decoder.Next(&r); ok; _, ok, _ = m.decoder.Next(&r) {
				out = append(out, fmt.Sprint(r.Key.Num))
			}
		} else if e, err := serde.UnmarshalEvent(b.Bytes); err != nil {
			m.t.Fatal(err)
		} else if c, ok := e.(serde.CheckpointBarrier); ok {
			out = append(out, fmt.Sprintf("%s %d", c.Options.Alignment, c.ID))
			if b.Type.BlocksUpstream() {
				m.sink.Channel(0).Resume()
			}
		} else if c, ok := e.(serde.CancelCheckpointMarker); ok {
			out = append(out, fmt.Sprintf("cancel %d", c.CheckpointID))
		} else {
			out = append(out, strings.TrimPrefix(fmt.Sprintf("%T%v", e, e), "serde."))
		}
		b.Recycle()
	}
}

// want compares what the task has sent, taken and declined so far.
func (m *middle) want(output string, taken []int64, declined ...string) {
	m.t.Helper()
	if got := m.output(); got != output {
		m.t.Errorf("output %q, want %q", got, output)
	}
	var ids []int64
	for _, s := range m.hears.taken {
		ids = append(ids, s.CheckpointID)
	}
	if fmt.Sprint(ids) != fmt.Sprint(taken) {
		m.t.Errorf("taken %v, want %v", ids, taken)
	}
	if fmt.Sprint(m.hears.declined) != fmt.Sprint(declined) {
		m.t.Errorf("declined %q, want %q", m.hears.declined, declined)
	}
}

// inFlight is what a checkpoint has kept, as bytes in input channels and in the output queue, or why it has not.
func (m *middle) inFlight(i int) (inputs map[int]int, output int, err error) {
	m.t.Helper()
	f := m.hears.taken[i].InFlight
	select {
	case <-f.Done():
	default:
		m.t.Fatalf("the data in flight of checkpoint %d is not complete", f.ID())
	}
	if err := f.Err(); err != nil {
		return nil, 0, err
	}
	var s checkpoint.TaskState
	f.Result(&s)
	inputs = map[int]int{}
	for _, c := range s.Inputs {
		for _, b := range c.Buffers {
			inputs[c.Channel] += len(b)
		}
	}
	for _, c := range s.Outputs {
		for _, b := range c.Buffers {
			output += len(b)
		}
	}
	return inputs, output, nil
}

func barrier(id int64, o serde.CheckpointOptions) serde.CheckpointBarrier {
	return serde.CheckpointBarrier{ID: id, Timestamp: time.Now().UnixMilli(), Options: o}
}

func inMiddle(t *testing.T, channels int, remote bool, test func(t *testing.T, m *middle)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newMiddle(t, channels, remote)) })
}

// TestAlignment: channels wait for each other, and what is read meanwhile is counted.
func TestAlignment(t *testing.T) {
	inMiddle(t, 2, false, func(t *testing.T, m *middle) {
		m.send(0, 1, barrier(1, serde.AlignedOptions()), 2)
		m.run()
		m.want("1", nil)
		m.send(1, 3, 4, barrier(1, serde.AlignedOptions()), 5)
		m.run()
		m.want("3, 4, ALIGNED 1, 2, 5", []int64{1})
		if s := m.hears.taken[0]; s.InFlight != nil || s.ProcessedBytes != int64(len(encoded(3, 4))) {
			t.Errorf("%+v, want no data in flight and the bytes of two records", s)
		}
	})
}

// TestUnaligned: the barrier goes on at once, before what is in the output queue, and all that comes in the other channel until
// its barrier is kept, also the half of a record that was read already.
func TestUnaligned(t *testing.T) {
	for _, remote := range []bool{false, true} {
		inMiddle(t, 2, remote, func(t *testing.T, m *middle) {
			three := encoded(3)
			m.send(0, 2)
			m.send(1, three[:5])
			m.run()
			m.send(0, barrier(1, serde.UnalignedOptions()))
			m.run()
			m.send(1, three[5:], 4)
			m.run()
			m.send(1, barrier(1, serde.UnalignedOptions()), 5)
			m.run()
			m.want("UNALIGNED 1, 2, 3, 4, 5", []int64{1})
			inputs, output, err := m.inFlight(0)
			if want := len(encoded(3, 4)); err != nil || len(inputs) != 1 || inputs[1] != want || output != len(encoded(2)) {
				t.Errorf("kept %v and %d, %v; want %d bytes of channel 1 and those of one record of the output", inputs, output, err, want)
			}
		})
	}
}

// TestUnalignedBetweenRecords: the barrier is not kept waiting by the rest of a buffer, which belongs to the checkpoint.
func TestUnalignedBetweenRecords(t *testing.T) {
	inMiddle(t, 2, false, func(t *testing.T, m *middle) {
		end := func(channel int) {
			m.send(channel, serde.EndOfDataEvent{Drain: true})
			if err := m.from[channel].Finish(); err != nil {
				t.Fatal(err)
			}
		}
		m.seen.then = func() {
			m.send(1, barrier(1, serde.UnalignedOptions()))
			end(1)
		}
		m.send(0, 1, 2, 3)
		end(0)
		if err := m.loop(); err != nil {
			t.Fatal(err)
		}
		m.want("UNALIGNED 1, 1, 2, 3, EndOfDataEvent{true}, EndOfPartitionEvent{}", []int64{1})
		if inputs, output, err := m.inFlight(0); err != nil || inputs[0] != len(encoded(2, 3)) || output != len(encoded(1)) {
			t.Errorf("kept %v and %d bytes of the output, %v; want two records and one", inputs, output, err)
		}
	})
}

// TestForcedAligned: where data in flight cannot be restored barriers are aligned, and behind that they overtake again.
func TestForcedAligned(t *testing.T) {
	inMiddle(t, 1, false, func(t *testing.T, m *middle) {
		m.UnalignedOutput = false
		m.send(0, 1)
		m.run()
		m.send(0, barrier(1, serde.UnalignedOptions()))
		m.run()
		m.want("1, FORCED_ALIGNED 1", []int64{1})
		if _, output, err := m.inFlight(0); err != nil || output != 0 {
			t.Errorf("%d bytes of the output are kept, %v", output, err)
		}
		m.UnalignedOutput = true
		m.send(0, 2, barrier(2, serde.UnalignedOptions().WithUnalignedUnsupported()))
		m.run() // the record first: the barrier came aligned
		m.want("UNALIGNED 2, 2", []int64{1, 2})
		if _, output, err := m.inFlight(1); err != nil || output != len(encoded(2)) {
			t.Errorf("%d bytes of the output are kept, %v", output, err)
		}
	})
}

// TestAlignmentTimesOut: after its time the checkpoint goes on without the last barrier.
func TestAlignmentTimesOut(t *testing.T) {
	inMiddle(t, 2, false, func(t *testing.T, m *middle) {
		m.send(0, barrier(1, serde.TimeoutableOptions(100)))
		m.run()
		time.Sleep(99 * time.Millisecond)
		m.run()
		m.want("", nil)
		time.Sleep(time.Millisecond)
		m.run()
		m.want("UNALIGNED 1", []int64{1})
		m.send(1, 1, barrier(1, serde.UnalignedOptions()))
		m.run()
		if inputs, _, err := m.inFlight(0); err != nil || len(inputs) != 0 { // the barrier was first
			t.Errorf("kept %v, %v", inputs, err)
		}
	})
}

// TestBarrierTimesOutInTheOutput is field report 13 for one task: a barrier that stands in the output queue when its time to
// stay aligned is over goes before the data, also if the task has ended; not if its checkpoint was given up.
func TestBarrierTimesOutInTheOutput(t *testing.T) {
	for _, c := range []struct {
		what        string
		then        func(m *middle)
		output      string
		kept, ended bool
	}{
		{"running", func(*middle) {}, "UNALIGNED 1, 1", true, false},
		{"ended", func(m *middle) { m.Mailbox.Close() }, "UNALIGNED 1, 1", true, true},
		{"given up", func(m *middle) { m.NotifyAborted(1, false) }, "1, ALIGNED 1", false, false},
		{"a newer one given up", func(m *middle) { m.NotifyAborted(2, false) }, "1, ALIGNED 1", false, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			inMiddle(t, 1, false, func(t *testing.T, m *middle) {
				m.send(0, 1, barrier(1, serde.TimeoutableOptions(100)))
				m.run()
				c.then(m)
				if !c.ended {
					m.run()
				}
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
				if !c.ended {
					m.run()
				}
				m.want(c.output, []int64{1})
				if _, output, err := m.inFlight(0); (err == nil) != c.kept || (output > 0) != c.kept {
					t.Errorf("%d bytes are kept, %v", output, err)
				}
			})
		})
	}
}

// TestGivenUpUpstream: a cancellation in one channel ends the checkpoint for all; it goes on downstream, once.
func TestGivenUpUpstream(t *testing.T) {
	inMiddle(t, 2, false, func(t *testing.T, m *middle) {
		m.send(0, barrier(1, serde.AlignedOptions()), 1)
		m.run()
		m.send(1, serde.CancelCheckpointMarker{CheckpointID: 1})
		m.run()
		m.want("cancel 1, 1", nil, "1 declined on cancellation barrier")
		if last := m.taken.Last(); last != 1 {
			t.Errorf("the last checkpoint dealt with is %d, want 1", last)
		}
	})
}

// TestGivenUpFromAbove: the coordinator gave a checkpoint up before its barriers came: it is not taken, and downstream hears.
func TestGivenUpFromAbove(t *testing.T) {
	inMiddle(t, 1, false, func(t *testing.T, m *middle) {
		m.NotifyAborted(1, false)
		m.run()
		m.send(0, barrier(1, serde.AlignedOptions()), barrier(2, serde.AlignedOptions()))
		m.run()
		m.want("cancel 1, ALIGNED 2", []int64{2})
	})
}

// TestNewerBarrier: data in flight of a checkpoint whose place a newer one takes is void, and so is that of an older one when
// a newer one is given up from above.
func TestNewerBarrier(t *testing.T) {
	inMiddle(t, 2, false, func(t *testing.T, m *middle) {
		m.send(0, barrier(1, serde.UnalignedOptions()))
		m.run()
		m.send(0, barrier(2, serde.UnalignedOptions()))
		m.run()
		m.want("UNALIGNED 1, UNALIGNED 2, cancel 1", []int64{1, 2}, "1 subsumed by a newer checkpoint")
		if _, _, err := m.inFlight(0); err == nil {
			t.Error("the data in flight of checkpoint 1 counts as complete")
		}
		m.NotifyAborted(1, false)
		m.run()
		select {
		case <-m.hears.taken[1].InFlight.Done():
			t.Error("checkpoint 2 does not gather any more")
		default:
		}
		m.NotifyAborted(3, false)
		m.run()
		if _, _, err := m.inFlight(1); err == nil {
			t.Error("the data in flight of checkpoint 2 counts as complete")
		}
	})
}

// TestChannelIsAhead: a channel has had the barrier of a newer checkpoint when an older one begins. That one is given up, and
// channels that it has blocked go on.
func TestChannelIsAhead(t *testing.T) {
	inMiddle(t, 3, true, func(t *testing.T, m *middle) {
		m.send(0, barrier(1, serde.TimeoutableOptions(100)), 1)
		m.run()
		m.send(1, barrier(1, serde.UnalignedOptions()))
		synctest.Wait()
		m.send(2, barrier(2, serde.UnalignedOptions()))
		m.run()
		m.want("UNALIGNED 2, cancel 1, 1", []int64{2}, "1 subsumed by a newer checkpoint")
	})
}

// TestChannelIsAheadAtTheEnd: the barrier of the newer checkpoint has come in a channel that is blocked, when the last one of the
// older checkpoint is read.
func TestChannelIsAheadAtTheEnd(t *testing.T) {
	inMiddle(t, 2, true, func(t *testing.T, m *middle) {
		m.send(0, barrier(1, serde.TimeoutableOptions(100)), 1)
		m.run()
		m.send(1, barrier(1, serde.UnalignedOptions()))
		synctest.Wait()
		m.send(0, barrier(2, serde.UnalignedOptions()))
		m.run()
		m.want("UNALIGNED 2, cancel 1, 1", []int64{2}, "1 subsumed by a newer checkpoint")
	})
}

// TestEndOfData: the consumer learns whether the records are over for good.
func TestEndOfData(t *testing.T) {
	for _, drain := range []bool{false, true} {
		inMiddle(t, 1, false, func(t *testing.T, m *middle) {
			m.send(0, 1, serde.EndOfDataEvent{Drain: drain})
			if err := m.from[0].Finish(); err != nil {
				t.Fatal(err)
			}
			m.run()
			if err := m.finish(); err != nil {
				t.Fatal(err)
			}
			m.want(fmt.Sprintf("1, EndOfDataEvent{%v}, EndOfPartitionEvent{}", drain), nil)
		})
	}
}

// TestEndedChannelIsReleased: nobody talks to the producer of a channel that has ended.
func TestEndedChannelIsReleased(t *testing.T) {
	inMiddle(t, 2, false, func(t *testing.T, m *middle) {
		m.send(0, 1, serde.EndOfDataEvent{Drain: true})
		if err := m.from[0].Finish(); err != nil {
			t.Fatal(err)
		}
		m.run()
		m.want("1", nil)
		for i, ended := range []bool{true, false} {
			if err := m.Gate.Channel(i).AnnounceBufferSize(512); (err != nil) != ended {
				t.Errorf("channel %d: %v", i, err)
			}
		}
	})
}

// TestStopSuspends: behind the barrier of the checkpoint that a job stops with a source sends nothing more, unless that
// checkpoint is given up.
func TestStopSuspends(t *testing.T) {
	inMiddle(t, 1, false, func(t *testing.T, m *middle) {
		for id, c := range []struct{ stop, aborted, aborts bool }{{}, {stop: true}, {stop: true, aborted: true}, {stop: true, aborted: true, aborts: true}} {
			m.suspended = false
			m.TriggerCheckpoint(barrier(int64(id+1), serde.AlignedOptions()), c.stop)
			if c.aborted {
				m.NotifyAborted(int64(id+1), c.aborts)
			}
			m.Mailbox.Run()
			if want := c.stop && !c.aborts; m.suspended != want {
				t.Errorf("%+v: suspended %v, want %v", c, m.suspended, want)
			}
		}
		m.want("ALIGNED 1, ALIGNED 2, ALIGNED 3, ALIGNED 4", []int64{1, 2, 3, 4})
	})
}

// TestStartDelay: clocks of two machines differ, so that a barrier may seem to come before it was sent.
func TestStartDelay(t *testing.T) {
	inMiddle(t, 1, false, func(t *testing.T, m *middle) {
		b := barrier(1, serde.AlignedOptions())
		b.Timestamp += 50
		m.TriggerCheckpoint(b, false)
		m.Mailbox.Run()
		time.Sleep(120 * time.Millisecond)
		b.ID = 2
		m.TriggerCheckpoint(b, false)
		m.Mailbox.Run()
		if a, b := m.hears.taken[0].StartDelay, m.hears.taken[1].StartDelay; a != 0 || b != 70*time.Millisecond {
			t.Errorf("start delays %v and %v, want 0 and 70ms", a, b)
		}
	})
}

// TestSettingsChangeLive: a new buffer timeout also holds for what was written under the old one. Debloating that is switched on
// starts from whole segments, and when it is switched off the producers are told to fill them again.
func TestSettingsChangeLive(t *testing.T) {
	inMiddle(t, 1, false, func(t *testing.T, m *middle) {
		apply := func(change func(s *Settings)) {
			s := *m.Context.Settings
			change(&s)
			m.Apply(&s)
			m.Mailbox.Run()
		}
		m.send(0, 1)
		m.run()
		if n := m.sink.Queued(); n != 0 {
			t.Error("the record is readable without a timeout")
		}
		apply(func(s *Settings) { s.BufferTimeoutMs = 50 })
		if n := m.sink.Queued(); n != 1 {
			t.Error("the record was left lying")
		}
		m.want("1", nil)
		m.send(0, 2)
		m.run()
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		if n := m.sink.Queued(); n != 1 {
			t.Error("the record is not readable after the new timeout")
		}
		m.want("2", nil)

		apply(func(s *Settings) { s.Debloat, s.SegmentBytes = true, 4096 })
		if size := m.Counters.DebloatedSize.Load(); size != 4096 {
			t.Errorf("debloating starts from %d bytes, want 4096", size)
		}
		if err := m.Gate.AnnounceBufferSize(300); err != nil {
			t.Fatal(err)
		}
		fill := func() int {
			m.send(0, serde.CancelCheckpointMarker{CheckpointID: -1}) // ends the open buffer
			m.run()
			for range 60 {
				m.from[0].Collect(&serde.Record{Key: serde.Key{Num: 1}})
			}
			return m.inputs[0].Stats(0).Fill[0]
		}
		if n := fill(); n != 300 {
			t.Errorf("the first buffer has %d bytes, want 300", n)
		}
		apply(func(s *Settings) { s.Debloat, s.SegmentBytes = false, 1024 })
		if n := fill(); n <= 300 || m.Counters.DebloatedSize.Load() != 0 {
			t.Errorf("the first buffer has %d bytes, want more than 300", n)
		}
	})
}
