package network

import (
	"strings"
	"testing"

	"weir/engine/memory"
	"weir/engine/serde"
)

// benchExchange is a writer, a local channel of its one subpartition, and what reads it.
type benchExchange struct {
	part    *ResultPartition
	writer  *RecordWriter
	gate    *Gate
	decoder serde.Deserializer
	record  serde.Record
	wake    wakeUp // of the consumer
	free    wakeUp // of the producer
}

func newBenchExchange(b *testing.B, flushAlways bool) *benchExchange {
	global := memory.NewGlobalPool(64, 32<<10)
	pool, err := global.CreateLocalPool(memory.PoolOptions{Required: 2, Max: 12, Subpartitions: 1, MaxBuffersPerSubpartition: 10, MaxOverdraft: 20})
	if err != nil {
		b.Fatal(err)
	}
	e := &benchExchange{wake: make(wakeUp, 1), free: make(wakeUp, 1), decoder: serde.NewDeserializer(raceSchema)}
	pool.SetOnAvailable(e.free.wake)
	e.part = NewResultPartition(PartitionID{Vertex: "source"}, 1, pool, 0)
	e.writer = NewRecordWriter(e.part, WriterOptions{Schema: raceSchema, Route: make([]uint16, 128)})
	e.writer.SetFlushAlways(flushAlways)
	e.gate = NewGate(1, nil, e.wake.wake)
	manager := NewPartitionManager()
	manager.Register(e.part)
	c, err := NewLocalChannel(e.gate, 0, manager, e.part.ID, 0)
	if err != nil {
		b.Fatal(err)
	}
	e.gate.SetChannel(c)
	return e
}

// read reads what there is; ended tells of the end of the partition.
func (e *benchExchange) read(b *testing.B) (n int, ended bool) {
	for {
		buf, _, ok, err := e.gate.Poll()
		if err != nil {
			b.Fatal(err)
		}
		if !ok {
			return n, false
		}
		if !buf.IsData() {
			return n, true
		}
		e.decoder.SetBuffer(buf.Bytes)
		for {
			_, ok, err := e.decoder.Next(&e.record)
			if err != nil {
				b.Fatal(err)
			}
			if !ok {
				break
			}
			n++
		}
		buf.Recycle()
	}
}

func (e *benchExchange) report(b *testing.B, read int) {
	if read != b.N {
		b.Fatalf("%d records came, expected %d", read, b.N)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
}

// BenchmarkWriterToDeserializer takes turns on one goroutine: what a record costs on both sides with nothing shared.
func BenchmarkWriterToDeserializer(b *testing.B) {
	for _, flush := range []bool{false, true} {
		b.Run(map[bool]string{false: "timeout", true: "flush-always"}[flush], func(b *testing.B) {
			e := newBenchExchange(b, flush)
			r := serde.Record{Payload: strings.Repeat("p", 100)}
			read := 0
			b.ReportAllocs()
			for b.Loop() {
				r.Key.Num++
				if err := e.writer.Collect(&r); err != nil {
					b.Fatal(err)
				}
				if e.writer.Pressed() && !e.writer.Available() {
					n, _ := e.read(b)
					read += n
				}
			}
			if err := e.writer.Finish(); err != nil {
				b.Fatal(err)
			}
			n, _ := e.read(b)
			e.report(b, read+n)
		})
	}
}

// BenchmarkWriterToGate has producer and consumer on goroutines of their own.
func BenchmarkWriterToGate(b *testing.B) {
	for _, flush := range []bool{false, true} {
		b.Run(map[bool]string{false: "timeout", true: "flush-always"}[flush], func(b *testing.B) {
			e := newBenchExchange(b, flush)
			b.ReportAllocs()
			b.ResetTimer()
			go func() {
				r := serde.Record{Payload: strings.Repeat("p", 100)}
				for range b.N {
					for e.writer.Pressed() && !e.writer.Available() {
						<-e.free
					}
					r.Key.Num++
					if err := e.writer.Collect(&r); err != nil {
						b.Error(err)
						return
					}
				}
				if err := e.writer.Finish(); err != nil {
					b.Error(err)
				}
			}()
			read := 0
			for {
				n, ended := e.read(b)
				if read += n; ended {
					break
				}
				<-e.wake
			}
			e.report(b, read)
		})
	}
}
