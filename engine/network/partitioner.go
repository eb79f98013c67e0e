package network

import (
	"weir/engine/serde"
	"weir/engine/trace"
)

// Partitioner says which subpartition a record goes to (Flink's StreamPartitioner). A keyed exchange has none of these:
// its WriterOptions.Route decides.
type Partitioner uint8

// The partitioners beside the keyed one.
const (
	// ToFirst sends everything to the only subpartition (ForwardPartitioner).
	ToFirst Partitioner = iota
	// RoundRobin deals records in turn (RebalancePartitioner over all consumers, RescalePartitioner over those near by).
	RoundRobin
	// ToAll sends each record to every subpartition (BroadcastPartitioner).
	ToAll
)

// nextInTurn is the subpartition after the one that got the last record.
func (w *RecordWriter) nextInTurn() int {
	if w.turn++; w.turn >= len(w.open) {
		w.turn = 0
	}
	return w.turn
}

// collectBroadcast writes a record once, into a buffer that all subpartitions share (Flink's BroadcastRecordWriter): each
// queue has a reference and reads at its own pace, and the segment goes back to the pool behind the slowest. As in Flink
// the buffer counts for no subpartition's limit.
func (w *RecordWriter) collectBroadcast(r *serde.Record) error {
	need := serde.MaxEncoded(w.schema, r)
	b := w.shared
	n := 0
	if b.limit-b.pos >= need {
		n = serde.PutRecord(b.data[b.pos:b.limit], w.schema, r)
		b.pos += n
		b.seg.Publish(b.pos)
		if b.pos == b.limit {
			w.finishShared()
		}
	} else {
		if cap(w.scratch) < need {
			w.scratch = make([]byte, need)
		}
		n = serde.PutRecord(w.scratch[:cap(w.scratch)], w.schema, r)
		if err := w.appendShared(w.scratch[:n]); err != nil {
			return err
		}
	}
	w.counters.Bytes += int64(n * len(w.open))
	w.counters.Records++
	if w.flushAlways {
		w.part.FlushAll()
	}
	if w.tracer.On(trace.RecordEmitted) {
		w.tracer.Hit(trace.RecordEmitted, w.thread, trace.Str("subpartition", "all"), trace.Int("buffer", b.pos), trace.Int("record", w.counters.Records))
	}
	return nil
}

// appendShared writes a record over as many shared buffers as it takes. A new buffer for a whole record is cut no
// shorter than the record.
func (w *RecordWriter) appendShared(rest []byte) error {
	b := w.shared
	for whole := true; len(rest) > 0; whole = false {
		if b.seg == nil {
			if err := w.request(-1, b); err != nil {
				return err
			}
			written := 0
			desired := len(rest)
			if !whole { // the rest of a record: the queues must never see it empty
				written = copy(b.data, rest)
				b.seg.Publish(written)
				desired = written
			}
			size, err := w.addShared()
			if err != nil {
				w.drop(b)
				return err
			}
			b.pos, rest = written, rest[written:]
			b.limit = min(len(b.data), max(size, desired))
		}
		n := copy(b.data[b.pos:b.limit], rest)
		b.pos += n
		b.seg.Publish(b.pos)
		rest = rest[n:]
		if b.pos == b.limit {
			w.finishShared()
		}
	}
	return nil
}

// addShared queues the shared buffer everywhere. The smallest size that a consumer announced cuts it.
func (w *RecordWriter) addShared() (size int, err error) {
	size = NoBufferSize
	for _, s := range w.part.subs {
		n, err := s.addSegment(w.shared.seg)
		if err != nil {
			return 0, err
		}
		size = min(size, n)
	}
	return size, nil
}

// finishShared ends the shared buffer; it counts as one for each subpartition.
func (w *RecordWriter) finishShared() {
	b := w.shared
	w.counters.Buffers += int64(len(w.open))
	w.counters.FullBytes += int64(b.pos * len(w.open))
	b.seg.Finish(b.pos)
	w.drop(b)
}
