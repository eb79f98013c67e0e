package lsm

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"weir/engine/checkpoint"
	"weir/engine/state"
)

// Name is the backend's name, as Incremental states carry it.
const Name = "lsm"

// Backend is the keyed state of one operator of one subtask in a DB of its own (Flink's RocksDBKeyedStateBackend). Its
// methods belong to the task's goroutine, but for those of snapshots, and CheckpointCompleted and CheckpointAborted.
type Backend struct {
	o           Options
	ctx         *state.KeyContext
	db          *db
	timers      *state.TimerSet
	prefixBytes int

	key  *CompositeKey
	turn uint64 // of the key context that the prefix in key is built for

	stores   map[string]*store
	unopened map[string]*store // restored, not asked for yet
	uploads  *uploads
	count    state.RestoreCounter
	path     RestorePath
	dropped  int64
	expired  int64 // dropped by RewriteExpired
	closed   bool

	flushes        int64 // that LSM has seen
	writtenAtFlush int64 // what had been written then
}

var _ state.ByteBackend = (*Backend)(nil)

// Open makes an empty backend.
func Open(o Options) (*Backend, error) { return Restore(o, Source{}) }

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.StateIDs == nil {
		o.StateIDs = NewStateIDs()
	}
	if o.Clock == nil {
		o.Clock = func() int64 { return time.Now().UnixMilli() }
	}
	return o
}

// newBackend makes a backend around a DB that is open.
func newBackend(o Options, d *db) (*Backend, error) {
	ctx, err := state.NewKeyContext(o.Key, o.MaxParallelism, o.KeyGroups)
	if err != nil {
		return nil, err
	}
	return &Backend{
		o: o, ctx: ctx, db: d, timers: state.NewTimerSet(ctx), prefixBytes: KeyGroupPrefixBytes(o.MaxParallelism),
		key: NewCompositeKey(o.MaxParallelism), stores: map[string]*store{}, unopened: map[string]*store{},
		uploads: newUploads(d.id, nil, false),
	}, nil
}

// Name is lsm.
func (b *Backend) Name() string { return Name }

// ID is that of this life of the DB.
func (b *Backend) ID() string { return b.db.id }

// Context is where the task sets the current key.
func (b *Backend) Context() *state.KeyContext { return b.ctx }

// Expiry is what a state with a TTL goes by.
func (b *Backend) Expiry(t state.TTL) state.Expiry { return state.NewExpiry(t, b.o.Clock, &b.dropped) }

// SafeToReuse is true: each read makes a new value. Timers lie on the heap, and are copied.
func (b *Backend) SafeToReuse() bool { return true }

// Timers makes or finds timers by name.
func (b *Backend) Timers(name string, ns state.NamespaceKind) (*state.Timers, error) {
	return b.timers.Open(name, ns)
}

// OpenStore makes the store of a state, or opens the one that was restored.
func (b *Backend) OpenStore(m state.Meta) (state.Store, error) {
	if b.closed {
		return nil, errClosed
	}
	if b.stores[m.Name] != nil {
		return nil, fmt.Errorf("state %q is open already", m.Name)
	}
	s := b.unopened[m.Name]
	if s != nil {
		if err := state.CheckCompatible(s.meta, m); err != nil {
			return nil, err
		}
		delete(b.unopened, m.Name)
		s.meta = m
	} else {
		var err error
		if s, err = b.newStore(m); err != nil {
			return nil, err
		}
	}
	b.stores[m.Name] = s
	return s, nil
}

func (b *Backend) newStore(m state.Meta) (*store, error) {
	id, err := b.o.StateIDs.ID(m.Name)
	if err != nil {
		return nil, err
	}
	return &store{b: b, id: id, meta: m, groups: make([]groupCount, b.o.KeyGroups.Size()), turn: ^uint64(0)}, nil
}

// all are the stores, open or not, by name.
func (b *Backend) all() []*store {
	names := slices.AppendSeq(slices.Collect(maps.Keys(b.stores)), maps.Keys(b.unopened))
	slices.Sort(names)
	out := make([]*store, len(names))
	for i, name := range names {
		if out[i] = b.stores[name]; out[i] == nil {
			out[i] = b.unopened[name]
		}
	}
	return out
}

// restoring is the store that a restore writes to.
func (b *Backend) restoring(m state.Meta) (*store, error) {
	for _, s := range []*store{b.stores[m.Name], b.unopened[m.Name]} {
		if s != nil {
			return s, state.CheckCompatible(m, s.meta)
		}
	}
	s, err := b.newStore(m)
	if err == nil {
		b.unopened[m.Name] = s
	}
	return s, err
}

// Restore adds key groups in the canonical format, of whichever backend.
func (b *Backend) Restore(groups []checkpoint.KeyGroupState) error {
	if b.closed {
		return errClosed
	}
	w := &batchWriter{db: b.db}
	var s *store
	var last struct {
		state.Window
		hash int32
		key  string
		any  bool
	}
	key := NewCompositeKey(b.o.MaxParallelism)
	err := state.ReadGroups(b.ctx, groups, &b.count,
		func(_ int, m state.Meta) (err error) {
			last.any = false
			if s = nil; m.Kind != state.KindTimers {
				s, err = b.restoring(m)
			}
			return err
		},
		func(r *state.CanonicalReader, group int, hash int32) error {
			if s == nil {
				return b.timers.Restore(r, group, hash)
			}
			key.SetKey(group, b.ctx.KeyType(), r.Key)
			base := string(key.Namespace(s.id, s.namespace(r.Namespace)))
			c := &s.groups[group-b.o.KeyGroups.First]
			if !last.any || last.key != base || s.meta.Kind != state.KindMap {
				c.keys++
			}
			last.any, last.key = true, base
			c.entries++
			c.bytes += s.entryBytes(r.Key, len(r.UserKey), len(r.Value))
			return w.set(key.UserKey(s.id, s.namespace(r.Namespace), r.UserKey), r.Value)
		},
		func(*state.CanonicalReader, int) error { return nil })
	return errors.Join(err, w.finish())
}

// batchWriter writes many keys at a time.
type batchWriter struct {
	db *db
	b  *pebble.Batch
}

const batchBytes = 1 << 20

func (w *batchWriter) set(key, value []byte) error {
	if w.b == nil {
		w.b = w.db.p.NewBatchWithSize(batchBytes + batchBytes/4)
	}
	if err := w.b.Set(key, value, nil); err != nil {
		return w.db.why(err)
	}
	if w.b.Len() >= batchBytes {
		return w.commit()
	}
	return nil
}

func (w *batchWriter) commit() error {
	err := w.b.Commit(pebble.NoSync)
	if cerr := w.b.Close(); err == nil {
		err = cerr
	}
	w.b = nil
	if err != nil {
		return w.db.why(err)
	}
	return w.db.listener.err()
}

func (w *batchWriter) finish() error {
	if w.b == nil {
		return nil
	}
	return w.commit()
}

// Stats are the figures of the state.
func (b *Backend) Stats() state.Stats {
	restored, out := b.count.Figures()
	s := state.Stats{RestoredKeys: restored, KeysOutOfRange: out, DroppedExpired: b.dropped + b.expired, DroppedInBackground: b.expired}
	for _, st := range b.all() {
		t := st.total()
		s.Keys = max(s.Keys, t.keys)
		s.Bytes += t.bytes
		s.States = append(s.States, state.StateStats{Name: st.meta.Name, Kind: st.meta.Kind, Keys: t.keys, Entries: t.entries, Bytes: t.bytes})
	}
	for _, t := range b.timers.Stats() {
		s.Bytes += t.Bytes
		s.States = append(s.States, t)
	}
	return s
}

// LSM are the figures of the tree.
func (b *Backend) LSM() Stats {
	if b.closed {
		return Stats{}
	}
	s := b.db.stats()
	s.Expired = b.expired
	if s.Flushes != b.flushes {
		b.flushes, b.writtenAtFlush = s.Flushes, s.written()
	}
	s.MemtableWritten = s.written() - b.writtenAtFlush
	for _, st := range b.all() {
		t := st.total()
		s.States = append(s.States, StateStats{Name: st.meta.Name, ID: st.id, Kind: st.meta.Kind, Entries: t.entries, Bytes: t.bytes})
	}
	return s
}

// Path tells how the backend was restored.
func (b *Backend) Path() RestorePath { return b.path }

// Err is why the DB can no longer be trusted, such as a damaged table; nil if it can.
func (b *Backend) Err() error { return b.db.listener.err() }

// CheckpointCompleted tells that a checkpoint is complete; later ones may refer to its files. Any goroutine may call it.
func (b *Backend) CheckpointCompleted(id int64) { b.uploads.complete(id) }

// CheckpointAborted tells that a checkpoint was given up. Any goroutine may call it.
func (b *Backend) CheckpointAborted(id int64) { b.uploads.aborted(id) }

// Close ends the backend and removes its folder. Snapshots that are being written end with state.ErrClosed.
func (b *Backend) Close() error {
	b.closed = true
	return b.db.close()
}
