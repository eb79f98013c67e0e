package lsm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"weir/engine/serde"
	"weir/engine/state"
)

// rewriteBytes is how large a table of RewriteExpired may grow before the next one is begun.
const rewriteBytes = 16 << 20

// RewriteExpired drops the values whose time to live has passed from the DB, and tells how many. Flink does that in a
// compaction filter. Pebble has none, so key groups where something has expired are written anew: what lives goes into a
// table, and that takes the place of all that was there. Until then a value that has expired is hidden when it is read.
//
// It belongs to the task's goroutine, between records: nothing may be written to those key groups meanwhile.
func (b *Backend) RewriteExpired() (int64, error) {
	if b.closed {
		return 0, errClosed
	}
	w := &rewriting{b: b, now: b.o.Clock(), byID: map[uint16]*store{}}
	for _, s := range b.all() {
		w.byID[s.id] = s
		s.turn = ^uint64(0) // what is remembered of the current key may be gone
		if s.meta.TTL.Enabled() {
			w.withTTL = append(w.withTTL, s)
		}
	}
	dropped, err := w.run()
	b.expired += dropped
	if err != nil {
		return dropped, fmt.Errorf("dropping the state that has expired: %w", err)
	}
	return dropped, nil
}

// rewriting is one RewriteExpired: tables of whole key groups that lie side by side.
type rewriting struct {
	b       *Backend
	now     int64
	withTTL []*store
	byID    map[uint16]*store

	table   *sstable.Writer
	path    string
	first   int // key group of the table
	keys    int // in the table
	dropped int64
	counts  []rewrittenCount
}

// rewrittenCount is what a state has in a key group of the table.
type rewrittenCount struct {
	s     *store
	group int
	c     groupCount
}

func (w *rewriting) run() (dropped int64, err error) {
	groups := w.b.o.KeyGroups
	for g := range groups.All() {
		any, err := w.anyExpired(g)
		if err != nil {
			return dropped, err
		}
		if any {
			if err := w.group(g); err != nil {
				w.discard()
				return dropped, err
			}
		}
		if w.table != nil && (!any || g == groups.Last || w.table.Raw().EstimatedSize() >= rewriteBytes) {
			end := g + 1
			if !any {
				end = g
			}
			n, err := w.finish(end)
			if dropped += n; err != nil {
				return dropped, err
			}
		}
	}
	return dropped, nil
}

func (w *rewriting) anyExpired(group int) (any bool, err error) {
	for _, s := range w.withTTL {
		if any || err != nil || s.groups[group-w.b.o.KeyGroups.First].entries == 0 {
			continue
		}
		err = w.b.db.each(statePrefix(group, w.b.prefixBytes, s.id), func(_, value []byte) bool {
			_, n := s.live(value, w.now)
			any = n > 0
			return !any
		})
	}
	return any, err
}

// begin makes the table.
func (w *rewriting) begin(group int) error {
	o := w.b.o
	w.path, w.first, w.keys, w.dropped, w.counts = o.FS.PathJoin(o.Dir, "rewrite.sst"), group, 0, 0, nil
	f, err := o.FS.Create(w.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	p := o.pebble(w.b.db.dir, w.b.db.listener)
	p.EnsureDefaults()
	w.table = sstable.NewWriter(objstorageprovider.NewFileWritable(f), p.MakeWriterOptions(6, w.b.db.p.TableFormat()))
	return nil
}

// group writes a key group to the table.
func (w *rewriting) group(group int) error {
	if w.table == nil {
		if err := w.begin(group); err != nil {
			return err
		}
	}
	for id := range w.byID {
		w.counts = append(w.counts, rewrittenCount{s: w.byID[id], group: group})
	}
	counts := w.counts[len(w.counts)-len(w.byID):]
	var at *rewrittenCount
	last := ""
	var failed error
	err := w.b.db.each(AppendKeyGroup(nil, group, w.b.prefixBytes), func(key, value []byte) bool {
		n := w.b.prefixBytes
		id := uint16(key[n])<<8 | uint16(key[n+1])
		if at == nil || at.s.id != id {
			at = nil
			for i := range counts {
				if counts[i].s.id == id {
					at = &counts[i]
				}
			}
			if at == nil {
				failed = fmt.Errorf("key %x is of no state", key)
				return false
			}
		}
		if at.s.meta.TTL.Enabled() {
			var n int64
			value, n = at.s.live(value, w.now)
			if w.dropped += n; value == nil {
				return true
			}
		}
		k, _, userKey, err := w.b.split(key, &at.s.meta)
		if err == nil {
			err = w.table.Set(key, value)
		}
		if failed = err; err != nil {
			return false
		}
		if owner := key[:len(key)-len(userKey)]; string(owner) != last {
			at.c.keys++
			last = string(owner)
		}
		at.c.entries++
		at.c.bytes += at.s.entryBytes(k, len(userKey), len(value))
		w.keys++
		return true
	})
	return errors.Join(err, failed)
}

// finish puts the table in the place of its key groups, the last of which is before end.
func (w *rewriting) finish(end int) (dropped int64, err error) {
	b := w.b
	defer func() { b.o.FS.Remove(w.path) }()
	err = w.table.Close()
	w.table = nil
	if err != nil {
		return 0, err
	}
	span := pebble.KeyRange{Start: AppendKeyGroup(nil, w.first, b.prefixBytes), End: AppendKeyGroup(nil, end, b.prefixBytes)}
	if w.keys == 0 {
		err = b.db.p.Excise(context.Background(), span)
	} else {
		_, err = b.db.p.IngestAndExcise(context.Background(), []string{w.path}, nil, nil, span)
	}
	if err != nil {
		return 0, b.db.why(err)
	}
	for _, c := range w.counts {
		c.s.groups[c.group-b.o.KeyGroups.First] = c.c
	}
	return w.dropped, b.db.listener.err()
}

func (w *rewriting) discard() {
	if w.table != nil {
		w.table.Close()
		w.b.o.FS.Remove(w.path)
	}
}

// live is what is left of a value at a time; nil if nothing. Of a list single elements expire: dropped counts them.
func (s *store) live(value []byte, now int64) (live []byte, dropped int64) {
	ttl := s.meta.TTL.After.Milliseconds()
	if s.meta.Kind == state.KindList {
		return s.liveElements(value, ttl, now)
	}
	if at, ok := s.meta.Stamp(value); ok && state.Expired(at, ttl, now) {
		return nil, 1
	}
	return value, 0
}

// stampBytes are those of the time before an element.
const stampBytes = 8

// liveElements walks a list. Where its codec is not one of those whose bytes are known here, the list is left as it is, to
// be thinned out when it is read.
func (s *store) liveElements(value []byte, ttl, now int64) ([]byte, int64) {
	var live []byte
	var dropped int64
	for rest := value; len(rest) > 0; {
		n := stampBytes + elementBytes(s.meta.Codec, rest[min(stampBytes, len(rest)):])
		if n <= stampBytes || n > len(rest) {
			return value, 0
		}
		if state.Expired(int64(binary.BigEndian.Uint64(rest)), ttl, now) {
			dropped++
		} else {
			live = append(live, rest[:n]...)
		}
		rest = rest[n:]
	}
	if dropped == 0 {
		return value, 0
	}
	return live, dropped
}

// elementBytes is the length of the value at the front of b, by the name of its codec; 0 if that is not known.
func elementBytes(codec string, b []byte) int {
	switch codec {
	case "long", "double":
		return 8
	case "bool":
		return 1
	case "string":
		_, rest, err := serde.ReadString(b)
		if err != nil {
			return 0
		}
		return len(b) - len(rest)
	case "bytes":
		if len(b) < 4 {
			return 0
		}
		return 4 + int(binary.BigEndian.Uint32(b))
	}
	return 0
}
