package operator

import (
	"time"

	"weir/engine/checkpoint"
	"weir/engine/serde"
	"weir/engine/task"
)

// Sequence makes records of scattered long keys as fast as they are taken, for measuring: the i-th has key mix(i) %
// Keys and a payload of RecordBytes (Flink's NumberSequenceSource with a map). Each subtask has a contiguous piece.
type Sequence struct {
	_      [128]byte
	next   int64
	end    int64
	keys   divisor
	text   string
	_      [128]byte
	splits numberSplits
	turn   int
	count  int64
	ctx    *task.Context
}

// NewSequence makes count records.
func NewSequence(count int64) *Sequence { return &Sequence{count: max(count, 0)} }

// Open takes the subtask's split, unless Restore has.
func (s *Sequence) Open(ctx *task.Context) error {
	s.ctx = ctx
	s.splits.open(s.count, ctx.Parallelism, ctx.Index)
	if len(s.splits.splits) > 0 {
		s.next, s.end = s.splits.splits[0].next, s.splits.splits[0].end
	}
	s.SettingsChanged()
	return nil
}

// SettingsChanged applies the knobs from the next record on.
func (s *Sequence) SettingsChanged() {
	s.keys = newDivisor(uint64(max(s.ctx.Settings.Keys, 1)))
	if len(s.text) != s.ctx.Settings.RecordBytes {
		s.text = payload(s.ctx.Settings.RecordBytes)
	}
}

// Next makes a record.
func (s *Sequence) Next(r *serde.Record) (task.Status, time.Duration) {
	for s.next >= s.end {
		if !s.nextSplit() {
			return task.End, 0
		}
	}
	r.Key.Num = int64(s.keys.mod(mix(uint64(s.next))))
	r.Payload = s.text
	s.next++
	return task.Ready, 0
}

// nextSplit puts the position of the split away and takes up the one behind it.
func (s *Sequence) nextSplit() bool {
	s.store()
	if s.turn+1 >= len(s.splits.splits) {
		return false
	}
	s.turn++
	s.next, s.end = s.splits.splits[s.turn].next, s.splits.splits[s.turn].end
	return true
}

func (s *Sequence) store() {
	if s.turn < len(s.splits.splits) {
		s.splits.splits[s.turn].next = s.next
	}
}

// Err is always nil: nothing can fail.
func (s *Sequence) Err() error { return nil }

// Snapshot is the position of each split.
func (s *Sequence) Snapshot() *checkpoint.OperatorState {
	s.store()
	return s.splits.snapshot()
}

// Restore takes the splits that this subtask was dealt, which may be none; it must be called before Open on every
// subtask of a restored job.
func (s *Sequence) Restore(o *checkpoint.OperatorState) error { return s.splits.restore(o) }

// Close does nothing.
func (s *Sequence) Close() error { return nil }

// mix scatters numbers over the longs that are not negative (the finalizer of SplitMix64).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return (z ^ z>>31) &^ (1 << 63)
}

// SequenceCounts counts, for each key, the records of a Sequence: what a sink must have seen.
func SequenceCounts(count, keys int64) []int64 {
	c := make([]int64, max(keys, 1))
	d := newDivisor(uint64(len(c)))
	for i := range count {
		c[d.mod(mix(uint64(i)))]++
	}
	return c
}
