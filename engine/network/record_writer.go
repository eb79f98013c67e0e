package network

import (
	"weir/engine/keygroup"
	"weir/engine/memory"
	"weir/engine/serde"
	"weir/engine/trace"
)

// openBuffer is the buffer that the writer fills for one subpartition (Flink's BufferBuilder). It has its own cache lines.
type openBuffer struct {
	_     [128]byte
	data  []byte
	pos   int
	limit int // where it is cut: the size announced by the debloater, at most the segment's
	seg   *memory.Segment
	_     [80]byte
}

// HardBackpressure hears when the writer blocks inside a record for want of a buffer.
type HardBackpressure interface {
	HardStart()
	HardEnd()
}

// WriterCounters are what the writer counts; plain values of the task's goroutine.
type WriterCounters struct {
	Records, Bytes int64
	Buffers        int64 // finished ones, as Flink's numBuffersOut counts
	FullBytes      int64 // bytes in those
}

// RecordWriter serializes records straight into the segments of a result partition (Flink's RecordWriter and
// BufferWritingResultPartition). Only the task's goroutine uses it.
type RecordWriter struct {
	_       [128]byte
	part    *ResultPartition
	schema  serde.Schema
	route   []uint16 // key group -> subpartition; nil leaves it to the partitioner
	groups  int
	open    []openBuffer
	shared  *openBuffer // of all subpartitions together; only ToAll has it
	turn    int         // the subpartition that got the last record; RoundRobin
	deals   Partitioner
	scratch []byte
	// pressed is set when taking a buffer made the pool unavailable: only the task's own requests can do that, so the
	// loop need not ask the pool after each record.
	pressed     bool
	flushAlways bool
	counters    WriterCounters
	tracer      *trace.Tracer
	thread      string
	hard        HardBackpressure
	quit        <-chan struct{}
	_           [128]byte
}

// WriterOptions are what a RecordWriter needs to know.
type WriterOptions struct {
	Schema serde.Schema
	// Route maps key groups to subpartitions; with nil the Partitioner decides.
	Route       []uint16
	Partitioner Partitioner
	// Turn is the subpartition before the one that RoundRobin begins with.
	Turn   int
	Tracer *trace.Tracer
	Thread string
	Hard   HardBackpressure
	// Quit ends a blocking wait for a buffer.
	Quit <-chan struct{}
}

// NewRecordWriter makes the writer of a partition.
func NewRecordWriter(p *ResultPartition, o WriterOptions) *RecordWriter {
	w := &RecordWriter{part: p, schema: o.Schema, route: o.Route, groups: len(o.Route), open: make([]openBuffer, len(p.subs)),
		deals: o.Partitioner, turn: o.Turn, tracer: o.Tracer, thread: o.Thread, hard: o.Hard, quit: o.Quit}
	if w.route == nil && w.deals == ToAll {
		w.shared = new(openBuffer)
	}
	return w
}

// SetFlushAlways makes every record readable at once (buffer timeout 0).
func (w *RecordWriter) SetFlushAlways(on bool) { w.flushAlways = on }

// Counters are the writer's counts so far.
func (w *RecordWriter) Counters() WriterCounters { return w.counters }

// Available is false when the task should not begin another record: the pool is empty, or one subpartition holds as
// many buffers as it may (soft backpressure).
func (w *RecordWriter) Available() bool {
	if w.pressed {
		w.pressed = !w.part.pool.Available()
	}
	return !w.pressed
}

// Pressed is Available without asking the pool: it costs one load of the task's own.
func (w *RecordWriter) Pressed() bool { return w.pressed }

// Collect writes one record. It blocks only when a buffer is needed inside the record and neither the pool nor the
// overdraft has one.
func (w *RecordWriter) Collect(r *serde.Record) error {
	sub := 0
	if w.route != nil {
		sub = int(w.route[keygroup.Assign(serde.HashKey(w.schema.Key, r.Key), w.groups)])
	} else if w.deals != ToFirst {
		if w.shared != nil {
			return w.collectBroadcast(r)
		}
		sub = w.nextInTurn()
	}
	b := &w.open[sub]
	if b.limit-b.pos >= serde.MaxEncoded(w.schema, r) {
		n := serde.PutRecord(b.data[b.pos:b.limit], w.schema, r)
		b.pos += n
		w.counters.Bytes += int64(n)
		b.seg.Publish(b.pos)
		if b.pos == b.limit {
			w.finish(b)
		}
	} else if err := w.collectSplit(r, sub, b); err != nil {
		return err
	}
	w.counters.Records++
	if w.flushAlways {
		if s := w.part.subs[sub]; !s.flushRequested.Load() {
			s.flush()
		}
	}
	if w.tracer.On(trace.RecordEmitted) {
		w.traceEmitted(r, sub)
	}
	return nil
}

// collectSplit writes a record that may not fit: it goes through scratch, and over as many buffers as it takes. A new
// buffer for a whole record is cut no shorter than the record.
func (w *RecordWriter) collectSplit(r *serde.Record, sub int, b *openBuffer) error {
	if need := serde.MaxEncoded(w.schema, r); cap(w.scratch) < need {
		w.scratch = make([]byte, need)
	}
	n := serde.PutRecord(w.scratch[:cap(w.scratch)], w.schema, r)
	return w.spill(w.scratch[:n], sub, b)
}

// spill writes the bytes of an element over as many buffers as it takes.
func (w *RecordWriter) spill(rest []byte, sub int, b *openBuffer) error {
	n := len(rest)
	w.counters.Bytes += int64(n)
	if b.seg == nil {
		if err := w.request(sub, b); err != nil {
			return err
		}
		size, err := w.part.subs[sub].addSegment(b.seg)
		if err != nil {
			w.drop(b)
			return err
		}
		b.limit = min(len(b.data), max(size, n))
	}
	rest = rest[w.append(b, rest):]
	for len(rest) > 0 {
		if err := w.request(sub, b); err != nil {
			return err
		}
		written := copy(b.data, rest)
		b.pos = written
		b.seg.Publish(written)
		size, err := w.part.subs[sub].addSegment(b.seg)
		if err != nil {
			w.drop(b)
			return err
		}
		b.limit = min(len(b.data), max(size, written))
		rest = rest[written:]
		if b.pos == b.limit {
			w.finish(b)
		}
	}
	return nil
}

// append copies what fits and finishes the buffer when it is full.
func (w *RecordWriter) append(b *openBuffer, p []byte) int {
	n := copy(b.data[b.pos:b.limit], p)
	b.pos += n
	b.seg.Publish(b.pos)
	if b.pos == b.limit {
		w.finish(b)
	}
	return n
}

func (w *RecordWriter) request(sub int, b *openBuffer) error {
	seg := w.part.pool.Request(sub)
	if seg == nil {
		if w.hard != nil {
			w.hard.HardStart()
		}
		var err error
		seg, err = w.part.pool.RequestBlocking(sub, w.quit)
		if w.hard != nil {
			w.hard.HardEnd()
		}
		if err != nil {
			return err
		}
	}
	w.pressed = !w.part.pool.Available()
	b.seg, b.data, b.pos, b.limit = seg, seg.Bytes(), 0, len(seg.Bytes())
	return nil
}

// finish ends a buffer: the last position is published and the writer's reference given back.
func (w *RecordWriter) finish(b *openBuffer) {
	w.counters.Buffers++
	w.counters.FullBytes += int64(b.pos)
	b.seg.Finish(b.pos)
	w.drop(b)
}

func (w *RecordWriter) drop(b *openBuffer) {
	b.seg.Release()
	b.seg, b.data, b.pos, b.limit = nil, nil, 0, 0
}

func (w *RecordWriter) traceEmitted(r *serde.Record, sub int) {
	w.tracer.Hit(trace.RecordEmitted, w.thread, trace.Int("subpartition", sub), trace.Int("buffer", w.open[sub].pos), trace.Int("record", w.counters.Records))
}

// FlushAll makes everything written so far readable.
func (w *RecordWriter) FlushAll() { w.part.FlushAll() }

// BroadcastEvent finishes the open buffers and queues an event in every subpartition.
func (w *RecordWriter) BroadcastEvent(e serde.Event, priority bool) error {
	return w.broadcast(e, priority, false)
}

// Finish ends every subpartition with an EndOfPartition event.
func (w *RecordWriter) Finish() error { return w.broadcast(serde.EndOfPartitionEvent{}, false, true) }

func (w *RecordWriter) broadcast(e serde.Event, priority, finish bool) error {
	return w.toAll(func(i int) error { return w.part.addEvent(i, e, priority, finish) })
}

// toAll finishes the open buffers and adds to every subpartition, also when one refuses; the first error is returned.
func (w *RecordWriter) toAll(add func(subpartition int) error) (first error) {
	if w.shared != nil && w.shared.seg != nil {
		w.finishShared()
	}
	for i := range w.open {
		if b := &w.open[i]; b.seg != nil {
			w.finish(b)
		}
		if err := add(i); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Close gives back the buffers that are still open. What is in them stays readable.
func (w *RecordWriter) Close() {
	if b := w.shared; b != nil && b.seg != nil {
		b.seg.Finish(b.pos)
		w.drop(b)
	}
	for i := range w.open {
		if b := &w.open[i]; b.seg != nil {
			b.seg.Finish(b.pos)
			w.drop(b)
		}
	}
}
