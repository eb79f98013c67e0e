package operator

import (
	"fmt"
	"sync"

	"weir/engine/serde"
	"weir/engine/task"
)

// Sink takes records and forgets them (Flink's DiscardingSink), after working on each for Settings.SinkWorkMs.
type Sink struct {
	stateless
	work
	ctx *task.Context
}

// NewSink makes the sink.
func NewSink() *Sink { return &Sink{} }

// Open keeps the settings.
func (s *Sink) Open(ctx *task.Context, _ task.Output) error {
	s.ctx = ctx
	s.SettingsChanged()
	return nil
}

// SettingsChanged applies the work from the next record on.
func (s *Sink) SettingsChanged() { s.set(s.ctx.Settings.SinkWorkMs, "sleep") }

// Process works, if there is work.
func (s *Sink) Process(*serde.Record) error {
	if s.d > 0 {
		s.do()
	}
	return nil
}

// Checksum is a sink that adds up, for each long key from 0 to keys-1, what its records hold, whatever their order: it
// shows that no record was lost, doubled or changed. It reads the ends and the length of a payload, not all of it.
type Checksum struct {
	stateless
	_    [128]byte
	sums []uint64
	_    [128]byte
	all  *Checksums
}

// Checksums are the sums of all subtasks of a job together.
type Checksums struct {
	mu   sync.Mutex
	sums []uint64
}

// NewChecksums makes room for keys 0 to keys-1.
func NewChecksums(keys int64) *Checksums { return &Checksums{sums: make([]uint64, max(keys, 1))} }

// New makes the sink of one subtask.
func (c *Checksums) New() task.Operator { return &Checksum{all: c} }

// Verify compares the sums with those of a Sequence of count records with payloads of the given bytes.
func (c *Checksums) Verify(count int64, bytes int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := sumOf(payload(bytes))
	for key, n := range SequenceCounts(count, int64(len(c.sums))) {
		if want := uint64(n) * one; c.sums[key] != want {
			return fmt.Errorf("key %d: checksum %#x, expected %#x for %d records", key, c.sums[key], want, n)
		}
	}
	return nil
}

// Open makes the array.
func (s *Checksum) Open(*task.Context, task.Output) error {
	s.sums = make([]uint64, len(s.all.sums))
	return nil
}

// Process adds one record.
func (s *Checksum) Process(r *serde.Record) error {
	if uint64(r.Key.Num) >= uint64(len(s.sums)) {
		return fmt.Errorf("checksum: key %d, expected 0 to %d", r.Key.Num, len(s.sums)-1)
	}
	s.sums[r.Key.Num] += sumOf(r.Payload)
	return nil
}

// sumOf is odd, so that one record more or less always shows.
func sumOf(p string) uint64 {
	h := uint64(len(p))
	if len(p) > 0 {
		h = h<<16 | uint64(p[0])<<8 | uint64(p[len(p)-1])
	}
	return h<<1 | 1
}

// SettingsChanged does nothing.
func (s *Checksum) SettingsChanged() {}

// Finish adds this subtask's sums to the job's.
func (s *Checksum) Finish() error {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	for k, v := range s.sums {
		s.all.sums[k] += v
	}
	return nil
}
