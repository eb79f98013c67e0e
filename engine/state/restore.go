package state

import (
	"bytes"
	"context"
	"fmt"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/engine/serde"
)

// RestoreCounter counts the keys of restores, by state: the figures of Stats.
type RestoreCounter struct {
	in, out map[string]int64
}

// Restored adds keys of a state that came another way than by ReadGroups.
func (c *RestoreCounter) Restored(state string, keys int64) {
	c.make()
	c.in[state] += keys
}

func (c *RestoreCounter) make() {
	if c.in == nil {
		c.in, c.out = map[string]int64{}, map[string]int64{}
	}
}

// Figures are RestoredKeys and KeysOutOfRange: those of the state with the most.
func (c *RestoreCounter) Figures() (restored, outOfRange int64) {
	for _, n := range c.in {
		restored = max(restored, n)
	}
	for _, n := range c.out {
		outOfRange = max(outOfRange, n)
	}
	return restored, outOfRange
}

// ReadGroups reads key groups in the canonical format for a backend's restore. It calls begin with each state of a key
// group of the subtask, then entry with each entry and its key's hash, then end. What the reader gives are views. A key
// in a key group that it does not hash to, and bytes that no writer wrote, are errors that name the key group.
func ReadGroups(ctx *KeyContext, groups []checkpoint.KeyGroupState, count *RestoreCounter,
	begin func(group int, m Meta) error, entry func(r *CanonicalReader, group int, hash int32) error, end func(r *CanonicalReader, group int) error) error {
	count.make()
	for _, g := range groups {
		if err := readGroup(ctx, g, count, begin, entry, end); err != nil {
			return fmt.Errorf("key group %d: %w", g.KeyGroup, err)
		}
	}
	return nil
}

func readGroup(ctx *KeyContext, g checkpoint.KeyGroupState, count *RestoreCounter,
	begin func(group int, m Meta) error, entry func(r *CanonicalReader, group int, hash int32) error, end func(r *CanonicalReader, group int) error) error {
	in := ctx.groups.Contains(g.KeyGroup)
	r := NewCanonicalReader(g.Data, ctx.keyType)
	for r.NextState() {
		if in {
			if err := begin(g.KeyGroup, r.Meta); err != nil {
				return err
			}
		}
		keys := int64(0)
		var last serde.Key
		var lastNs Window
		for r.NextEntry() {
			// The entries of a map stand together.
			if r.Meta.Kind == KindMap && keys > 0 && r.Key == last && r.Namespace == lastNs {
				keys--
			}
			keys++
			last, lastNs = r.Key, r.Namespace
			hash := serde.HashKey(ctx.keyType, r.Key)
			if at := keygroup.Assign(hash, ctx.maxParallelism); at != g.KeyGroup {
				return fmt.Errorf("state %q, entry %d: key %q belongs to key group %d of %d", r.Meta.Name, r.entries, serde.FormatKey(ctx.keyType, r.Key), at, ctx.maxParallelism)
			}
			if in {
				if err := entry(r, g.KeyGroup, hash); err != nil {
					return fmt.Errorf("state %q, entry %d: %w", r.Meta.Name, r.entries, err)
				}
			}
		}
		if r.err != nil {
			break
		}
		if in {
			count.in[r.Meta.Name] += keys
			if err := end(r, g.KeyGroup); err != nil {
				return err
			}
		} else {
			count.out[r.Meta.Name] += keys
		}
	}
	return r.Err()
}

// GroupBytes takes a snapshot and writes it at once: the canonical bytes of each key group that has entries.
func GroupBytes(b Backend, id int64) ([]checkpoint.KeyGroupState, error) {
	s, err := b.Snapshot(id)
	if err != nil {
		return nil, err
	}
	defer s.Release()
	var buf bytes.Buffer
	offsets, err := s.Write(context.Background(), &buf)
	if err != nil {
		return nil, err
	}
	return SplitGroups(buf.Bytes(), offsets), nil
}

// SplitGroups cuts what Snapshot.Write wrote into its key groups, which share its bytes.
func SplitGroups(b []byte, offsets []GroupOffset) []checkpoint.KeyGroupState {
	out := make([]checkpoint.KeyGroupState, len(offsets))
	for i, o := range offsets {
		end := o.Offset + o.Length
		out[i] = checkpoint.KeyGroupState{KeyGroup: o.KeyGroup, Data: b[o.Offset:end:end]}
	}
	return out
}
