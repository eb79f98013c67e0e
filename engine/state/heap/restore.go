package heap

import (
	"errors"
	"strings"

	"weir/engine/serde"
	"weir/engine/state"
)

// pendingState is what was restored of a state that nobody has made yet. It goes into snapshots as it came.
type pendingState struct {
	meta   state.Meta
	groups map[int][][]byte // the blocks of entries by key group
	stats  state.StateStats
}

// fill moves it into the table.
func (p *pendingState) fill(t anyTable, k serde.KeyType) error {
	for group, all := range p.groups {
		for _, blocks := range all {
			r := state.NewRawReader(p.meta, blocks, k)
			for r.NextEntry() {
				if err := t.restore(r, group, serde.HashKey(k, r.Key)); err != nil {
					return err
				}
			}
			if err := r.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// restoring is one Restore.
type restoring struct {
	b       *Backend
	table   anyTable
	pending *pendingState
	last    serde.Key
	lastNs  state.Window
	any     bool
}

func (r *restoring) begin(_ int, m state.Meta) error {
	r.table, r.pending, r.any = nil, nil, false
	if m.Kind == state.KindTimers {
		return nil
	}
	if t, ok := r.b.byName[m.Name]; ok {
		r.table = t
		return state.CheckCompatible(m, t.metaOf())
	}
	p := r.b.pending[m.Name]
	if p == nil {
		p = &pendingState{meta: m, groups: map[int][][]byte{}, stats: state.StateStats{Name: m.Name, Kind: m.Kind}}
		r.b.pending[m.Name] = p
	}
	r.pending = p
	return state.CheckCompatible(m, p.meta)
}

func (r *restoring) entry(c *state.CanonicalReader, group int, hash int32) error {
	switch {
	case r.table != nil:
		return r.table.restore(c, group, hash)
	case r.pending == nil:
		return r.b.timers.Restore(c, group, hash)
	}
	s := &r.pending.stats
	s.Entries++
	if !r.any || c.Key != r.last || c.Namespace != r.lastNs {
		s.Keys++
	}
	r.any, r.last, r.lastNs = true, c.Key, c.Namespace
	s.Bytes += int64(state.KeyBytes(r.b.ctx.KeyType(), c.Key) + len(c.UserKey) + len(c.Value))
	if c.Meta.Namespace == state.WindowNamespace {
		s.Bytes += 16
	}
	return nil
}

func (r *restoring) end(c *state.CanonicalReader, group int) error {
	if r.pending != nil {
		r.pending.groups[group] = append(r.pending.groups[group], c.Raw())
	}
	return nil
}

func orLeft(err error) error {
	if err == nil {
		return errors.New("expected none")
	}
	return err
}

func cmpText(a, b string) int { return strings.Compare(a, b) }
