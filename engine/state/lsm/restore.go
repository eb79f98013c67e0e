package lsm

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"

	"github.com/cockroachdb/pebble/v2"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/engine/state"
)

// Source is what a backend is restored from.
type Source struct {
	// States are those whose key groups meet the subtask's, of one checkpoint, in the order of the old subtasks.
	States []checkpoint.IncrementalState
	// Files are the shared files that they refer to.
	Files checkpoint.SharedFiles
	// Claimed says that the checkpoint belongs to the job, so that later ones may refer to its files. Else the first
	// checkpoint stores everything anew (Flink's NO_CLAIM).
	Claimed bool
	// Copy forces the slow way of taking in the states of other subtasks: key by key.
	Copy bool
}

// The paths of a restore.
const (
	PathEmpty   = "empty"   // nothing to restore
	PathSame    = "same"    // one handle with the same key groups: the files are opened
	PathClipped = "clipped" // one handle with more key groups: the rest is cut off
	PathMerged  = "merged"  // several handles
)

// RestorePath tells how a backend was restored.
type RestorePath struct {
	Path string
	// Base is the handle whose files were opened, by its place among the sources; -1 if none was.
	Base int
	// Clips are what was cut off the base, as key groups [from, to).
	Clips [][2]int
	// Sources are all handles.
	Sources []RestoredSource
}

// RestoredSource is one handle of a restore.
type RestoredSource struct {
	KeyGroups keygroup.Range
	Taken     keygroup.Range // the part that is the subtask's
	// How is base, ingested (its tables were taken in by reference) or copied (key by key).
	How    string
	Tables int // taken in by reference
	Bytes  int64
}

// The ways that a handle takes.
const (
	HowBase     = "base"
	HowIngested = "ingested"
	HowCopied   = "copied"
)

// ChooseBase picks the handle that the others are merged into: of those whose overlap with target is at least threshold of
// their own key groups, the one with the most key groups in target, then with the largest such part, then the first. It
// is -1 if there is none. Flink's RocksDBIncrementalCheckpointUtils.
func ChooseBase(handles []keygroup.Range, target keygroup.Range, threshold float64) int {
	best, most, largest := -1, 0, 0.0
	for i, h := range handles {
		n := h.Intersect(target).Size()
		if n == 0 {
			continue
		}
		part := float64(n) / float64(h.Size())
		if part < threshold {
			continue
		}
		if n > most || n == most && part > largest {
			best, most, largest = i, n, part
		}
	}
	return best
}

// Restore makes a backend of the files of a checkpoint, in a fresh DB: the same files under the same key groups are
// opened; of a handle with more, the rest is cut off; of several, one is the base that the others' tables are taken into
// (see ChooseBase). Nothing is written to the checkpoint.
func Restore(o Options, from Source) (*Backend, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := o.FS.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("state folder %s: %w", o.Dir, err)
	}
	r := &restore{o: o, from: from, known: map[string]checkpoint.StateFile{}}
	b, err := r.run()
	if err != nil {
		if r.db != nil {
			r.db.close()
		}
		o.FS.RemoveAll(o.Dir)
		return nil, fmt.Errorf("restoring the state of key groups %d to %d: %w", o.KeyGroups.First, o.KeyGroups.Last, err)
	}
	return b, nil
}

type restore struct {
	o     Options
	from  Source
	metas []*storedMeta
	db    *db
	path  RestorePath
	known map[string]checkpoint.StateFile // by name in the new DB
	// own tells which handles number their states as this operator does.
	own []bool
}

func (r *restore) run() (*Backend, error) {
	if err := r.read(); err != nil {
		return nil, err
	}
	id := newBackendID()
	var ranges []keygroup.Range
	for i, s := range r.from.States {
		g := s.KeyGroups
		if !r.own[i] {
			g = keygroup.Empty // its files cannot be opened as they are
		}
		ranges = append(ranges, g)
	}
	base := ChooseBase(ranges, r.o.KeyGroups, r.o.OverlapThreshold)
	if len(r.from.States) == 1 && r.own[0] {
		base = 0
	}
	r.path.Base = base
	if base >= 0 {
		if err := r.placeBase(base); err != nil {
			return nil, err
		}
	}
	var err error
	if r.db, err = openDB(r.o, id); err != nil {
		return nil, err
	}
	if base >= 0 {
		if err := r.clip(base); err != nil {
			return nil, err
		}
	}
	for i := range r.from.States {
		if i != base {
			if err := r.take(i); err != nil {
				return nil, err
			}
		}
	}
	switch {
	case len(r.from.States) == 0:
		r.path.Path = PathEmpty
	case len(r.from.States) > 1 || base < 0:
		r.path.Path = PathMerged
	case len(r.path.Clips) > 0:
		r.path.Path = PathClipped
	default:
		r.path.Path = PathSame
	}
	b, err := newBackend(r.o, r.db)
	if err != nil {
		return nil, err
	}
	b.path = r.path
	b.uploads = newUploads(id, r.known, r.from.Claimed)
	return b, r.states(b)
}

// read parses what the checkpoint says of each handle, and agrees on the numbers of the states.
func (r *restore) read() error {
	for i := range r.from.States {
		s := &r.from.States[i]
		if s.Backend != Name {
			return fmt.Errorf("the files are those of the state backend %q, expected %q: restore from a savepoint instead", s.Backend, Name)
		}
		if s.MaxParallelism != r.o.MaxParallelism {
			return fmt.Errorf("state with max parallelism %d, expected %d", s.MaxParallelism, r.o.MaxParallelism)
		}
		m, err := parseMeta(s.Meta)
		if err != nil {
			return fmt.Errorf("state of key groups %d to %d: %w", s.KeyGroups.First, s.KeyGroups.Last, err)
		}
		r.metas = append(r.metas, m)
		r.own = append(r.own, r.o.StateIDs.adopt(m.ids()))
		taken := s.KeyGroups.Intersect(r.o.KeyGroups)
		r.path.Sources = append(r.path.Sources, RestoredSource{KeyGroups: s.KeyGroups, Taken: taken, Bytes: s.Bytes()})
	}
	return nil
}

// materialize puts the files of a handle into a folder.
func (r *restore) materialize(i int, dir string) error {
	fs := r.o.FS
	if err := fs.MkdirAll(fs.PathJoin(dir, externalFolder), 0o755); err != nil {
		return err
	}
	s := &r.from.States[i]
	for j := range s.Files {
		f := &s.Files[j]
		if f.File != "" && r.from.Files == nil {
			return fmt.Errorf("file %s lies in the shared folder, and none was given", f.Name)
		}
		files := r.from.Files
		if files == nil {
			files = checkpoint.NewMemoryShared()
		}
		if err := place(fs, files, f, fs.PathJoin(dir, placedAs(path.Clean(f.Name)))); err != nil {
			return fmt.Errorf("file %s of the state: %w", f.Name, err)
		}
	}
	return nil
}

func (r *restore) placeBase(i int) error {
	r.path.Sources[i].How = HowBase
	for _, f := range r.from.States[i].Files {
		if f.Shared {
			r.known[f.Name] = f
		}
	}
	return r.materialize(i, r.o.FS.PathJoin(r.o.Dir, dbFolder))
}

// clip cuts off the base what is not the subtask's. A cut hides keys at once; files that lie wholly in it are deleted, of
// the others both halves go on in one file until a compaction.
func (r *restore) clip(i int) error {
	held, want := r.from.States[i].KeyGroups, r.o.KeyGroups
	cut := func(from, to int) error {
		if from >= to {
			return nil
		}
		r.path.Clips = append(r.path.Clips, [2]int{from, to})
		if err := r.db.p.Excise(context.Background(), r.keys(keygroup.Range{First: from, Last: to - 1})); err != nil {
			return err
		}
		r.traceClip(i, from, to)
		return nil
	}
	err := cut(held.First, min(want.First, held.Last+1))
	if err == nil {
		err = cut(max(want.Last+1, held.First), held.Last+1)
	}
	if err != nil {
		return fmt.Errorf("clipping key groups %d to %d: %w", held.First, held.Last, r.db.why(err))
	}
	return r.db.listener.err()
}

// keys are the keys of a range of key groups.
func (r *restore) keys(g keygroup.Range) pebble.KeyRange {
	n := KeyGroupPrefixBytes(r.o.MaxParallelism)
	return pebble.KeyRange{Start: AppendKeyGroup(nil, g.First, n), End: AppendKeyGroup(nil, g.Last+1, n)}
}

// take takes in the part of a handle that is the subtask's.
func (r *restore) take(i int) error {
	fs := r.o.FS
	dir := fs.PathJoin(r.o.Dir, restorePrefix+strconv.Itoa(i))
	if err := r.materialize(i, dir); err != nil {
		return err
	}
	p, err := openReadOnly(&r.o, dir, dir)
	if err != nil {
		return err
	}
	source := &r.path.Sources[i]
	if r.own[i] && !r.from.Copy {
		source.How = HowIngested
		source.Tables, err = r.ingest(i, p, dir)
	} else {
		source.How = HowCopied
		err = r.copy(i, p)
	}
	return errors.Join(err, p.Close(), fs.RemoveAll(dir))
}

// copy takes keys one by one, and gives each its state's number here.
func (r *restore) copy(i int, p *pebble.DB) error {
	n := KeyGroupPrefixBytes(r.o.MaxParallelism)
	numbers := map[uint16]uint16{}
	for _, s := range r.metas[i].states {
		id, err := r.o.StateIDs.ID(s.meta.Name)
		if err != nil {
			return err
		}
		numbers[s.id] = id
	}
	keys := r.keys(r.path.Sources[i].Taken)
	it, err := p.NewIter(&pebble.IterOptions{LowerBound: keys.Start, UpperBound: keys.End})
	if err != nil {
		return err
	}
	w := &batchWriter{db: r.db}
	var key []byte
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		key = append(key[:0], it.Key()...)
		if len(key) < n+StateIDBytes {
			err = fmt.Errorf("key %x in the store is too short", key)
			break
		}
		id, known := numbers[uint16(key[n])<<8|uint16(key[n+1])]
		if !known {
			err = fmt.Errorf("key %x in the store is of a state that the checkpoint does not know", key)
			break
		}
		key[n], key[n+1] = byte(id>>8), byte(id)
		var value []byte
		if value, err = it.ValueAndErr(); err == nil {
			err = w.set(key, value)
		}
	}
	return errors.Join(err, it.Close(), w.finish())
}

// states makes the stores and timers that came with the handles.
func (r *restore) states(b *Backend) error {
	for i, m := range r.metas {
		taken := r.path.Sources[i].Taken
		for _, stored := range m.states {
			s, err := b.restoring(stored.meta)
			if err != nil {
				return err
			}
			var n int64
			for g, c := range stored.groups {
				if taken.Contains(g) {
					t := &s.groups[g-r.o.KeyGroups.First]
					t.keys += c.keys
					t.entries += c.entries
					t.bytes += c.bytes
					n += c.keys
				}
			}
			b.count.Restored(stored.meta.Name, n)
		}
		counted := b.count
		b.count = state.RestoreCounter{} // timers are no keys
		var timers []checkpoint.KeyGroupState
		for _, g := range m.timers {
			if taken.Contains(g.KeyGroup) {
				timers = append(timers, g)
			}
		}
		if err := b.Restore(timers); err != nil {
			return err
		}
		b.count = counted
	}
	return nil
}

// openReadOnly opens files for reading; external tables lie in the folder of that name in root.
func openReadOnly(o *Options, dir, root string) (*pebble.DB, error) {
	l := &listener{}
	p := o.pebble(root, l)
	p.ReadOnly = true
	db, err := pebble.Open(dir, p)
	if err == nil && l.err() != nil {
		db.Close()
		err = l.err()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open the files of the state in %s: %w", dir, err)
	}
	return db, nil
}
