package operator

import (
	"fmt"
	"math"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/serde"
	"weir/engine/task"
)

// Generator makes numbered records at a rate (Flink's DataGeneratorSource with RateLimiterStrategy.perSecond). The
// numbers 0 to count-1 are cut into one piece for each subtask of the first start, in order; a piece's position is split
// state, so a change of parallelism deals the pieces anew. The rate is shared evenly by the pieces that are not at their
// end.
type Generator struct {
	_      [128]byte
	limit  limiter
	keyer  keyer
	splits numberSplits
	turn   int
	text   string
	_      [128]byte

	count int64
	ctx   *task.Context
}

// NewGenerator makes count records; 0 is as many as there are longs. What they look like, the settings say: Rate, Keys,
// KeyType, HotKeyShare and RecordBytes.
func NewGenerator(count int64) *Generator {
	if count <= 0 {
		count = math.MaxInt64
	}
	return &Generator{count: count}
}

// Open takes the subtask's split, unless Restore has.
func (g *Generator) Open(ctx *task.Context) error {
	g.ctx = ctx
	if _, err := serde.ParseKeyType(ctx.Settings.KeyType); err != nil {
		return fmt.Errorf("generator: %w", err)
	}
	g.splits.open(g.count, ctx.Parallelism, ctx.Index)
	g.SettingsChanged()
	return nil
}

// SettingsChanged applies the knobs from the next record on.
func (g *Generator) SettingsChanged() {
	s := g.ctx.Settings
	t, err := serde.ParseKeyType(s.KeyType)
	if err != nil {
		t = g.keyer.t // a restart knob: the type that the job began with
	}
	g.keyer = newKeyer(s, t)
	if len(g.text) != s.RecordBytes {
		g.text = payload(s.RecordBytes)
	}
	g.share()
}

func (g *Generator) share() {
	if share := g.splits.share(); share > 0 {
		g.limit.follow(g.ctx.Settings, share)
	}
}

// Next makes a record. A subtask without splits is at its end if the sequence is bounded, else idle.
func (g *Generator) Next(r *serde.Record) (task.Status, time.Duration) {
	s := g.splits.splits
	for len(s) > 0 && s[g.turn].next >= s[g.turn].end {
		if !g.advance() {
			s = nil
		}
	}
	if len(s) == 0 {
		if g.count == math.MaxInt64 {
			return task.Wait, longestWait
		}
		return task.End, 0
	}
	if wait, ok := g.limit.take(); !ok {
		return task.Wait, wait
	}
	p := &s[g.turn]
	g.keyer.key(p.next, &r.Key)
	r.Payload = g.text
	p.next++
	if p.next == p.end {
		g.share()
	}
	if len(s) > 1 {
		g.advance()
	}
	return task.Ready, 0
}

// advance moves to the next split that is not at its end, and tells whether there is one.
func (g *Generator) advance() bool {
	n := len(g.splits.splits)
	for range n {
		if g.turn++; g.turn >= n {
			g.turn = 0
		}
		if p := &g.splits.splits[g.turn]; p.next < p.end {
			return true
		}
	}
	return false
}

// Err is always nil: nothing can fail.
func (g *Generator) Err() error { return nil }

// Snapshot is the position of each split.
func (g *Generator) Snapshot() *checkpoint.OperatorState { return g.splits.snapshot() }

// Restore takes the splits that this subtask was dealt, which may be none; it must be called before Open on every
// subtask of a restored job.
func (g *Generator) Restore(s *checkpoint.OperatorState) error { return g.splits.restore(s) }

// Close does nothing.
func (g *Generator) Close() error { return nil }
