package lsm

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/state"
)

// FilesSnapshot is the DB as it was, as hard links in a folder of its own. Upload, Write and Release may be called from any
// one goroutine at a time beside the task's.
type FilesSnapshot struct {
	id      int64
	b       *Backend
	db      *db
	dir     string
	files   []plannedFile
	states  []storedState
	timers  *state.TimerSnapshot
	release sync.Once
}

// SnapshotFiles is the synchronous phase of a checkpoint: what the memtable holds is flushed, then all files are
// hard-linked; Flink's takeDBNativeCheckpoint. How long it takes goes by what was written since the last flush, not by the
// size of the state. The caller must Release the snapshot.
func (b *Backend) SnapshotFiles(id int64) (*FilesSnapshot, error) {
	if b.closed || !b.db.enter() {
		return nil, state.ErrClosed
	}
	s, err := b.snapshotFiles(id)
	if err != nil {
		b.db.leave()
		return nil, fmt.Errorf("checkpoint %d of the state in %s: %w", id, b.o.Dir, err)
	}
	return s, nil
}

func (b *Backend) snapshotFiles(id int64) (*FilesSnapshot, error) {
	d, fs := b.db, b.o.FS
	if err := d.flush(); err != nil {
		return nil, err
	}
	s := &FilesSnapshot{id: id, b: b, db: d, dir: fs.PathJoin(b.o.Dir, snapshotPrefix+strconv.FormatInt(id, 10)), timers: b.timers.Snapshot()}
	// Tables that were taken in are not linked. They can only become fewer, so those that are there before the checkpoint
	// are all that it can refer to.
	external, err := d.externalTables()
	if err != nil {
		return nil, err
	}
	d.hold(external)
	err = d.p.Checkpoint(s.dir)
	if err == nil {
		err = d.listener.err()
	}
	if err == nil {
		err = s.list(external)
	}
	if err != nil {
		fs.RemoveAll(s.dir)
		d.drop(external)
		return nil, err
	}
	s.states = b.storedStates()
	s.traceCheckpoint()
	return s, nil
}

// externalTables are the tables taken in by reference that the DB still refers to: their names in the folder external.
func (d *db) externalTables() ([]string, error) {
	var names []string
	for _, o := range d.p.ObjProvider().List() {
		if o.IsExternal() {
			names = append(names, o.Remote.CustomObjectName)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// hold keeps tables from being deleted until drop.
func (d *db) hold(names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range names {
		d.links[name]++
	}
}

// drop ends a hold, and deletes what neither the DB nor a snapshot refers to any more: Pebble deletes only what it wrote.
func (d *db) drop(names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range names {
		if d.links[name]--; d.links[name] <= 0 {
			delete(d.links, name)
		}
	}
	if d.closed {
		return
	}
	live, err := d.externalTables()
	if err != nil {
		return
	}
	folder := d.o.FS.PathJoin(d.dir, externalFolder)
	all, err := d.o.FS.List(folder)
	if err != nil {
		return
	}
	for _, name := range all {
		if _, live := slices.BinarySearch(live, name); !live && d.links[name] == 0 {
			d.o.FS.Remove(d.o.FS.PathJoin(folder, name))
		}
	}
}

// list finds the snapshot's files.
func (s *FilesSnapshot) list(external []string) error {
	fs := s.b.o.FS
	names, err := fs.List(s.dir)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		s.files = append(s.files, plannedFile{name: name, path: fs.PathJoin(s.dir, name), shared: strings.HasSuffix(name, ".sst")})
	}
	for _, name := range external {
		s.files = append(s.files, plannedFile{name: externalFolder + "/" + name, path: fs.PathJoin(s.db.dir, externalFolder, name), shared: true})
	}
	for i := range s.files {
		info, err := fs.Stat(s.files[i].path)
		if err != nil {
			return err
		}
		s.files[i].bytes = info.Size()
	}
	return nil
}

func (b *Backend) storedStates() []storedState {
	var out []storedState
	for _, st := range b.all() {
		stored := storedState{id: st.id, meta: st.meta, groups: map[int]groupCount{}}
		for i, c := range st.groups {
			if c != (groupCount{}) {
				stored.groups[b.o.KeyGroups.First+i] = c
			}
		}
		out = append(out, stored)
	}
	return out
}

// thread names the goroutine that stores the snapshot.
func (s *FilesSnapshot) thread() string {
	return s.b.o.Thread + " async " + strconv.FormatInt(s.id, 10)
}

// ID is the checkpoint's.
func (s *FilesSnapshot) ID() int64 { return s.id }

// Release removes the hard links. A second call does nothing.
func (s *FilesSnapshot) Release() {
	s.release.Do(func() {
		var external []string
		for _, f := range s.files {
			if name, ok := strings.CutPrefix(f.name, externalFolder+"/"); ok {
				external = append(external, name)
			}
		}
		s.b.o.FS.RemoveAll(s.dir)
		s.db.drop(external)
		s.db.leave()
	})
}

// Snapshot is the synchronous phase of a savepoint in the canonical format. It takes hard links, not a snapshot of Pebble's:
// an open one would leave several versions of a key in a table, which a restore could not take in by reference.
func (b *Backend) Snapshot(id int64) (state.Snapshot, error) {
	s, err := b.SnapshotFiles(id)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Write writes the canonical format, by opening the linked files a second time.
func (s *FilesSnapshot) Write(ctx context.Context, w io.Writer) ([]state.GroupOffset, error) {
	ctx, cancel := s.db.until(ctx)
	defer cancel(nil)
	p, err := openReadOnly(&s.b.o, s.dir, s.db.dir)
	if err != nil {
		return nil, fmt.Errorf("snapshot %d: %w", s.id, err)
	}
	c := state.NewCanonicalWriter(ctx, w, s.b.o.Key)
	for g := range s.b.o.KeyGroups.All() {
		if err = s.writeGroup(ctx, p, c, g); err != nil {
			break
		}
	}
	var offsets []state.GroupOffset
	if err == nil {
		offsets, err = c.Finish()
	}
	if cerr := p.Close(); err == nil {
		err = cerr
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return offsets, err
}

func (s *FilesSnapshot) writeGroup(ctx context.Context, p *pebble.DB, c *state.CanonicalWriter, group int) error {
	c.Group(group)
	for i := range s.states {
		st := &s.states[i]
		n := st.groups[group].entries
		if n == 0 {
			continue
		}
		c.State(st.meta, n)
		prefix := statePrefix(group, s.b.prefixBytes, st.id)
		it, err := p.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: after(prefix)})
		if err != nil {
			return err
		}
		for ok := it.First(); ok && err == nil; ok = it.Next() {
			var key serde.Key
			var ns state.Window
			var userKey, value []byte
			if key, ns, userKey, err = s.b.split(it.Key(), &st.meta); err != nil {
				break
			}
			if value, err = it.ValueAndErr(); err == nil {
				n--
				err = c.Entry(key, ns, userKey, value)
			}
		}
		if cerr := it.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return fmt.Errorf("state %q, key group %d: %w", st.meta.Name, group, err)
		}
		if n != 0 {
			return fmt.Errorf("state %q, key group %d: %d entries less than were counted", st.meta.Name, group, n)
		}
	}
	if s.timers.Has(group) {
		return s.timers.WriteGroup(c, group)
	}
	return ctx.Err()
}

// incremental is the state as a checkpoint keeps it.
func (s *FilesSnapshot) incremental(ctx context.Context, files []checkpoint.StateFile) (checkpoint.IncrementalState, error) {
	m := storedMeta{states: s.states}
	timers, err := s.timerGroups(ctx)
	if err != nil {
		return checkpoint.IncrementalState{}, err
	}
	m.timers = timers
	return checkpoint.IncrementalState{
		Backend: Name, BackendID: s.db.id, MaxParallelism: s.b.o.MaxParallelism,
		KeyGroups: keygroup.Range{First: s.b.o.KeyGroups.First, Last: s.b.o.KeyGroups.Last},
		Meta:      m.encode(), Files: files,
	}, nil
}

func (s *FilesSnapshot) timerGroups(ctx context.Context) ([]checkpoint.KeyGroupState, error) {
	var b strings.Builder
	c := state.NewCanonicalWriter(ctx, &b, s.b.o.Key)
	for g := range s.b.o.KeyGroups.All() {
		if !s.timers.Has(g) {
			continue
		}
		c.Group(g)
		if err := s.timers.WriteGroup(c, g); err != nil {
			return nil, err
		}
	}
	offsets, err := c.Finish()
	return state.SplitGroups([]byte(b.String()), offsets), err
}
