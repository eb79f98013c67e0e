package task

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/engine/memory"
	"weir/engine/metric"
	"weir/engine/network"
	"weir/engine/serde"
)

// seen keeps the keys that reach it, and passes the records on.
type seen struct {
	keys []int64
	out  Output
	then func() // with the first
}

func (s *seen) Open(_ *Context, out Output) error { s.out = out; return nil }
func (s *seen) Process(r *serde.Record) error {
	s.keys = append(s.keys, r.Key.Num)
	if s.then != nil && len(s.keys) == 1 {
		s.then()
	}
	return s.out.Collect(r)
}
func (s *seen) Finish() error                           { return nil }
func (s *seen) SettingsChanged()                        {}
func (s *seen) Snapshot() *checkpoint.OperatorState     { return nil }
func (s *seen) Restore(*checkpoint.OperatorState) error { return nil }
func (s *seen) Close() error                            { return nil }

// hears keeps what a task tells about its checkpoints.
type hears struct {
	taken     []Snapshotted
	declined  []string
	recovered int
}

func (h *hears) Snapshotted(s Snapshotted) { h.taken = append(h.taken, s) }
func (h *hears) Declined(_ string, _ int, id int64, why checkpoint.Reason, err error) {
	h.declined = append(h.declined, fmt.Sprintf("%d %s", id, why))
}
func (h *hears) Recovered() { h.recovered++ }

// recovering is a task whose gate has so many local channels.
type recovering struct {
	*Task
	seen       *seen
	hears      *hears
	partitions []*network.ResultPartition
	close      func()
}

var recoverySchema = serde.Schema{Key: serde.Long}

func newRecovering(t *testing.T, channels int, keys keygroup.Range, r *Recovery) *recovering {
	t.Helper()
	global := memory.NewGlobalPool(8+2*channels, 1024)
	pool := func(o memory.PoolOptions) *memory.LocalPool {
		p, err := global.CreateLocalPool(o)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	manager := network.NewPartitionManager()
	rt := &recovering{seen: &seen{}, hears: &hears{}}
	mailbox := NewMailbox()
	gate := network.NewGate(channels, pool(memory.PoolOptions{Required: 1, Max: 8}), mailbox.Wake)
	s := Defaults()
	c := Config{Vertex: "count", Gate: gate, Local: make([]bool, channels), Input: recoverySchema, Mailbox: mailbox, Times: metric.NewTaskTimes(),
		Logger: slog.New(slog.DiscardHandler), Listener: rt.hears, Recovery: r, Operators: []OperatorFactory{{Name: "seen", New: func() Operator { return rt.seen }}},
		Context: Context{Vertex: "count", Parallelism: 1, MaxParallelism: 128, KeyGroups: keys, Settings: &s}}
	rt.Task = New(c)
	for i := range channels {
		p := network.NewResultPartition(network.PartitionID{Vertex: "source", Subtask: i}, 1, pool(memory.PoolOptions{Required: 1, Max: 2, Subpartitions: 1, MaxBuffersPerSubpartition: 10}), 0)
		manager.Register(p)
		ch, err := network.NewLocalChannel(gate, i, manager, p.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		gate.SetChannel(ch)
		rt.partitions = append(rt.partitions, p)
	}
	if err := rt.open(); err != nil {
		t.Fatal(err)
	}
	rt.startShells()
	rt.close = func() {
		rt.stopShells()
		gate.Release()
		for _, p := range rt.partitions {
			p.Release()
		}
		if global.Available() != global.Total() {
			t.Errorf("%d of %d segments are back", global.Available(), global.Total())
		}
	}
	return rt
}

func encoded(keys ...int64) []byte {
	var out []byte
	for _, k := range keys {
		r := serde.Record{Key: serde.Key{Num: k}}
		b := make([]byte, serde.MaxEncoded(recoverySchema, &r))
		out = append(out, b[:serde.PutRecord(b, recoverySchema, &r)]...)
	}
	return out
}

var allKeys = keygroup.Range{First: 0, Last: 127}

// TestCIG01ChannelsWaitForTheLast: each channel blocks behind its recovered data; with the last of eleven all go on.
func TestCIG01ChannelsWaitForTheLast(t *testing.T) {
	const n = 11
	rt := newRecovering(t, n, allKeys, &Recovery{})
	defer rt.close()
	blocked := func() (b int) {
		for _, p := range rt.partitions {
			if p.Stats(0).Blocked {
				b++
			}
		}
		return b
	}
	for i, p := range rt.partitions {
		if got, done, err := rt.processRecovered(); got != noInput || done || err != nil {
			t.Fatalf("outcome %v, done %v, %v with %d channels recovered", got, done, err, i)
		}
		if blocked() != i || rt.hears.recovered != 0 {
			t.Fatalf("%d channels are blocked, %d recovered heard, want %d and 0", blocked(), rt.hears.recovered, i)
		}
		if err := p.FinishRecovery(); err != nil {
			t.Fatal(err)
		}
	}
	if _, done, err := rt.processRecovered(); !done || err != nil {
		t.Fatalf("done %v, %v", done, err)
	}
	if blocked() != 0 || rt.hears.recovered != 1 || rt.recovery != nil {
		t.Errorf("%d channels are blocked, recovered heard %d times", blocked(), rt.hears.recovered)
	}
}

// TestRecoveredOrder: what the task itself had received comes first, then what the producer sends again, whose first bytes
// are the rest of a record, and then new records.
func TestRecoveredOrder(t *testing.T) {
	half := encoded(1, 2, 3)
	rt := newRecovering(t, 1, allKeys, &Recovery{Inputs: []checkpoint.ChannelState{{Channel: 0, Buffers: [][]byte{half[:20], half[20:29]}}}})
	defer rt.close()
	if err := rt.partitions[0].Recover(0, [][]byte{half[29:], encoded(4)}, nil, 1024); err != nil {
		t.Fatal(err)
	}
	if err := rt.partitions[0].FinishRecovery(); err != nil {
		t.Fatal(err)
	}
	w := network.NewRecordWriter(rt.partitions[0], network.WriterOptions{Schema: recoverySchema})
	if err := w.Collect(&serde.Record{Key: serde.Key{Num: 5}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	if got, err := rt.process(); got != ended || err != nil {
		t.Fatalf("outcome %v, %v", got, err)
	}
	if want := []int64{1, 2, 3, 4, 5}; !slices.Equal(rt.seen.keys, want) {
		t.Errorf("keys %v, want %v", rt.seen.keys, want)
	}
}

// TestRecoveredRescaled: the data of two old subtasks and two old producers comes through one channel, interleaved, with
// records cut in two; each goes on in its own deserializer, and records of foreign key groups are left out.
func TestRecoveredRescaled(t *testing.T) {
	mine := keygroup.Range{First: 0, Last: 63}
	var own, foreign []int64
	for k := int64(0); len(own) < 8 || len(foreign) < 8; k++ {
		if mine.Contains(keygroup.Assign(serde.HashKey(serde.Long, serde.Key{Num: k}), 128)) {
			own = append(own, k)
		} else {
			foreign = append(foreign, k)
		}
	}
	a, b := encoded(own[0], foreign[0], own[1]), encoded(foreign[1], own[2], own[3])
	rt := newRecovering(t, 1, mine, &Recovery{Rescaled: true, Filter: true, Inputs: []checkpoint.ChannelState{
		{Subtask: 0, Channel: 0, Buffers: [][]byte{a[:30]}},
		{Subtask: 1, Channel: 0, Buffers: [][]byte{b[:17]}},
	}})
	defer rt.close()
	p := rt.partitions[0]
	for i, data := range [][]byte{a[30:], b[17:]} {
		if err := p.Recover(0, [][]byte{data}, &serde.SubtaskConnectionDescriptor{InputSubtask: int32(i), OutputSubtask: 0}, 7); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.FinishRecovery(); err != nil {
		t.Fatal(err)
	}
	if _, done, err := rt.processRecovered(); !done || err != nil {
		t.Fatalf("done %v, %v", done, err)
	}
	if want := own[:4]; !slices.Equal(rt.seen.keys, want) {
		t.Errorf("keys %v, want %v", rt.seen.keys, want)
	}
}

// TestRecoveredInTurn: behind an exchange that deals in turn every record counts, whatever its key group.
func TestRecoveredInTurn(t *testing.T) {
	rt := newRecovering(t, 1, keygroup.Range{First: 0, Last: 0}, &Recovery{Rescaled: true, Inputs: []checkpoint.ChannelState{{Buffers: [][]byte{encoded(1, 2, 3)}}}})
	defer rt.close()
	if err := rt.partitions[0].FinishRecovery(); err != nil {
		t.Fatal(err)
	}
	if _, done, err := rt.processRecovered(); !done || err != nil {
		t.Fatalf("done %v, %v", done, err)
	}
	if want := []int64{1, 2, 3}; !slices.Equal(rt.seen.keys, want) {
		t.Errorf("keys %v, want %v", rt.seen.keys, want)
	}
}

// TestRecoveredHalfRecord: data in flight that ends inside a record is no checkpoint's; it is an error, not a loss.
func TestRecoveredHalfRecord(t *testing.T) {
	for _, rescaled := range []bool{false, true} {
		t.Run(fmt.Sprintf("rescaled=%v", rescaled), func(t *testing.T) {
			rt := newRecovering(t, 1, allKeys, &Recovery{Rescaled: rescaled, Inputs: []checkpoint.ChannelState{{Buffers: [][]byte{encoded(1)[:6]}}}})
			defer rt.close()
			if err := rt.partitions[0].FinishRecovery(); err != nil {
				t.Fatal(err)
			}
			if _, _, err := rt.processRecovered(); err == nil {
				t.Error("no error")
			} else {
				t.Log(err)
			}
		})
	}
}

// TestMailRunsDuringRecovery: a mail interrupts the reading of recovered data after any record.
func TestMailRunsDuringRecovery(t *testing.T) {
	rt := newRecovering(t, 1, allKeys, &Recovery{Inputs: []checkpoint.ChannelState{{Buffers: [][]byte{encoded(1, 2, 3)}}}})
	defer rt.close()
	if err := rt.partitions[0].FinishRecovery(); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for want := 1; want <= 3; want++ {
		rt.Mailbox.Post(func() { ran++ })
		if got, done, err := rt.processRecovered(); got != more || done || err != nil || len(rt.seen.keys) != want {
			t.Fatalf("outcome %v, done %v, %v, keys %v", got, done, err, rt.seen.keys)
		}
		rt.Mailbox.Run()
	}
	if _, done, err := rt.processRecovered(); !done || err != nil || ran != 3 {
		t.Fatalf("done %v, %v, %d mails", done, err, ran)
	}
}
