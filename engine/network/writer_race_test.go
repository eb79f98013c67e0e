package network

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"weir/engine/memory"
	"weir/engine/serde"
)

var raceSchema = serde.Schema{Key: serde.Long, Payload: true}

// raceProducer writes records under soft backpressure, a barrier now and then, and the end. The key is the record's
// number in its subpartition, so that the reader knows which must be next; the payload follows from it.
type raceProducer struct {
	id     int
	part   *ResultPartition
	writer *RecordWriter
	wake   chan struct{}
}

// TestWriterToGateUnderRace sends 200,000 records of random size from two producers with a flusher each, through local
// channels and gates to two consumers that align barriers. Order and count are exact, and every segment comes back.
func TestWriterToGateUnderRace(t *testing.T) {
	for _, flushAlways := range []bool{false, true} {
		t.Run(fmt.Sprintf("flush always %v", flushAlways), func(t *testing.T) { runRace(t, flushAlways, 100_000) })
	}
}

func runRace(t *testing.T, flushAlways bool, records int) {
	const producers, consumers, segments = 2, 2, 64
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	global := memory.NewGlobalPool(segments, 1024)
	manager := NewPartitionManager()
	var sources [producers]*raceProducer
	for i := range sources {
		pool, err := global.CreateLocalPool(memory.PoolOptions{Required: consumers + 1, Max: 12, Subpartitions: consumers,
			MaxBuffersPerSubpartition: 10, MaxOverdraft: 8})
		if err != nil {
			t.Fatal(err)
		}
		p := &raceProducer{id: i, part: NewResultPartition(PartitionID{Vertex: "source", Subtask: i}, consumers, pool, 0), wake: make(chan struct{}, 1)}
		pool.SetOnAvailable(wakeUp(p.wake).wake)
		p.writer = NewRecordWriter(p.part, WriterOptions{Schema: raceSchema, Route: []uint16{0, 1}})
		p.writer.SetFlushAlways(flushAlways)
		manager.Register(p.part)
		sources[i] = p
	}
	var (
		tasks, flushers sync.WaitGroup
		counts          [consumers]int
		gates           [consumers]*Gate
	)
	stop := make(chan struct{})
	for i := range consumers {
		wake := make(wakeUp, 1)
		gates[i] = NewGate(producers, nil, wake.wake)
		for j, p := range sources {
			c, err := NewLocalChannel(gates[i], j, manager, p.part.ID, i)
			if err != nil {
				t.Fatal(err)
			}
			gates[i].SetChannel(c)
		}
		tasks.Go(func() { counts[i] = raceConsume(t, gates[i], wake) })
	}
	for _, p := range sources {
		tasks.Go(func() { p.run(t, rand.New(rand.NewPCG(seed, uint64(p.id))), records/producers) })
		flushers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					p.part.FlushAll()
					runtime.Gosched()
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { tasks.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		for i, g := range gates {
			t.Logf("gate %d: %d queued, waiting %v", i, g.Queued(), g.waiting.Load())
		}
		for _, p := range sources {
			t.Logf("producer %d: %+v %+v, pool %+v", p.id, p.part.Stats(0), p.part.Stats(1), p.part.Pool().Stats())
		}
		t.Fatal("the exchange is stuck")
	}
	close(stop)
	flushers.Wait()
	if counts[0]+counts[1] != records {
		t.Errorf("%v records came, expected %d", counts, records)
	}
	for _, g := range gates {
		g.Release()
	}
	for _, p := range sources {
		p.writer.Close()
		p.part.Release()
	}
	if global.Available() != segments {
		t.Errorf("%d of %d segments are back", global.Available(), segments)
	}
}

// racePayload is what a record with this number carries.
func racePayload(text string, number int64) string {
	n := int(uint64(number) * 2654435761 % 301)
	if number%97 == 0 {
		n *= 10 // more than a segment
	}
	return text[:n]
}

var raceText = func() string {
	b := make([]byte, 4000)
	for i := range b {
		b[i] = byte('a' + i%26)
	}
	return string(b)
}()

func (p *raceProducer) run(t *testing.T, rnd *rand.Rand, records int) {
	var r serde.Record
	written := 0
	for number := int64(0); written < records; number++ {
		for !p.writer.Available() {
			<-p.wake
		}
		r.Key.Num, r.Payload = number, racePayload(raceText, number)
		if err := p.writer.Collect(&r); err != nil {
			t.Error(err)
			return
		}
		if written++; written%5000 == 0 {
			barrier := serde.CheckpointBarrier{ID: int64(written / 5000), Options: serde.AlignedOptions()}
			if err := p.writer.BroadcastEvent(barrier, false); err != nil {
				t.Error(err)
			}
		}
		if rnd.IntN(1000) == 0 {
			runtime.Gosched()
		}
	}
	if err := p.writer.Finish(); err != nil {
		t.Error(err)
	}
}

// raceConsume reads a gate to the end of all its channels. A channel whose barrier came stays blocked until that of the
// others has come, or they have ended.
func raceConsume(t *testing.T, gate *Gate, wake <-chan struct{}) (count int) {
	channels := gate.Channels()
	decoders, last := make([]serde.Deserializer, channels), make([]int64, channels)
	for i := range decoders {
		decoders[i], last[i] = serde.NewDeserializer(raceSchema), -1
	}
	blocked, ended := map[int]bool{}, map[int]bool{}
	align := func() error {
		if len(blocked) == 0 || len(blocked)+len(ended) < channels {
			return nil
		}
		for c := range blocked {
			delete(blocked, c)
			if err := gate.Channel(c).Resume(); err != nil {
				return err
			}
		}
		return nil
	}
	for polls := 0; len(ended) < channels; polls++ {
		b, c, ok, err := gate.Poll()
		if err != nil {
			t.Error(err)
			return count
		}
		if !ok {
			<-wake
			continue
		}
		if polls%64 == 0 {
			if err := gate.AnnounceBufferSize(256 + polls%1024); err != nil {
				t.Error(err)
			}
		}
		if blocked[c] || ended[c] {
			t.Errorf("channel %d gave %s while blocked or ended", c, b.Type)
			return count
		}
		if b.IsData() {
			n, err := raceRead(&decoders[c], b.Bytes, &last[c])
			if err != nil {
				t.Errorf("channel %d: %v", c, err)
				return count
			}
			count += n
			b.Recycle()
			continue
		}
		switch b.Type {
		case serde.AlignedCheckpointBarrier:
			blocked[c] = true
		case serde.EndOfPartition:
			ended[c] = true
			if decoders[c].Unfinished() > 0 {
				t.Errorf("channel %d ended inside a record", c)
			}
			gate.Channel(c).Release()
		}
		if err := align(); err != nil {
			t.Error(err)
		}
	}
	return count
}

// raceRead reads the records of a buffer; their numbers must rise.
func raceRead(d *serde.Deserializer, b []byte, last *int64) (n int, err error) {
	d.SetBuffer(b)
	for r := (serde.Record{}); ; n++ {
		_, ok, err := d.Next(&r)
		if err != nil || !ok {
			return n, err
		}
		if r.Key.Num <= *last {
			return n, fmt.Errorf("record %d came after %d", r.Key.Num, *last)
		}
		*last = r.Key.Num
		if want := racePayload(raceText, r.Key.Num); r.Payload != want {
			return n, fmt.Errorf("record %d has a payload of %d bytes, expected the first %d letters", r.Key.Num, len(r.Payload), len(want))
		}
	}
}
