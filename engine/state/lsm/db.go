package lsm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The folders in a DB's own.
const (
	externalFolder = "external"  // tables that were taken in by reference
	snapshotPrefix = "snapshot-" // hard links of a checkpoint that is being uploaded
	restorePrefix  = "restore-"  // files of a handle that is being restored
	dbFolder       = "db"
)

// errClosed is what each access answers after Close.
var errClosed = errors.New("the state store is closed")

// db is one Pebble DB and what belongs to it on the disk. get, set, remove and merge belong to the task's goroutine.
type db struct {
	o        Options
	id       string // of this life of the DB
	dir      string // Pebble's
	p        *pebble.DB
	listener *listener
	value    []byte // what get returned
	access   Access

	mu        sync.Mutex
	closed    bool
	snapshots int             // that still need the folder
	links     map[string]int  // external tables that snapshots still need
	closing   context.Context // ends when close begins
	end       context.CancelFunc
}

// openDB opens the DB in the folder db of o.Dir; one that is there is opened, else made.
func openDB(o Options, id string) (*db, error) {
	d := &db{o: o, id: id, dir: o.FS.PathJoin(o.Dir, dbFolder), listener: &listener{on: o.OnEvent}, links: map[string]int{}}
	d.closing, d.end = context.WithCancel(context.Background())
	if err := o.FS.MkdirAll(o.FS.PathJoin(d.dir, externalFolder), 0o755); err != nil {
		return nil, fmt.Errorf("state folder %s: %w", o.Dir, err)
	}
	p, err := pebble.Open(d.dir, o.pebble(d.dir, d.listener))
	if err == nil {
		err = d.listener.err()
	}
	if err != nil {
		if p != nil {
			p.Close()
		}
		d.end()
		return nil, fmt.Errorf("cannot open the state in %s: %w", o.Dir, err)
	}
	d.p = p
	return d, nil
}

// get is the value of a key; the bytes live until the next get.
func (d *db) get(key []byte) ([]byte, bool, error) {
	d.access.Gets++
	d.access.KeyBytes += int64(len(key))
	v, closer, err := d.p.Get(key)
	if err != nil {
		if err == pebble.ErrNotFound {
			return nil, false, nil
		}
		return nil, false, d.why(err)
	}
	d.value = append(d.value[:0], v...)
	d.access.ReadBytes += int64(len(v))
	if err := closer.Close(); err != nil {
		return nil, false, d.why(err)
	}
	return d.value, true, nil
}

func (d *db) set(key, value []byte) error {
	d.access.Puts++
	d.access.KeyBytes += int64(len(key))
	d.access.WrittenKeyBytes += int64(len(key))
	d.access.WriteBytes += int64(len(value))
	if err := d.p.Set(key, value, pebble.NoSync); err != nil {
		return d.why(err)
	}
	return d.listener.err()
}

func (d *db) remove(key []byte) error {
	if err := d.p.Delete(key, pebble.NoSync); err != nil {
		return d.why(err)
	}
	return d.listener.err()
}

// merge adds to the end of a value.
func (d *db) merge(key, more []byte) error {
	d.access.Puts++
	d.access.KeyBytes += int64(len(key))
	d.access.WrittenKeyBytes += int64(len(key))
	d.access.WriteBytes += int64(len(more))
	if err := d.p.Merge(key, more, pebble.NoSync); err != nil {
		return d.why(err)
	}
	return d.listener.err()
}

// iter goes through the keys from lower to before upper, which it keeps.
func (d *db) iter(lower, upper []byte) (*pebble.Iterator, error) {
	it, err := d.p.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, d.why(err)
	}
	return it, nil
}

// why prefers the fault that the listener heard of: it names the file.
func (d *db) why(err error) error {
	if sticky := d.listener.err(); sticky != nil {
		return sticky
	}
	return err
}

// flush writes the memtable out, and waits for it. A disk that is full fails it at once, although the DB goes on trying. The
// first attempt that fails may have begun before there was room again; the second has not.
func (d *db) flush() error {
	failure := d.listener.nextFailure()
	done, err := d.p.AsyncFlush()
	if err != nil {
		return d.why(err)
	}
	for range 2 {
		select {
		case <-done:
			return d.listener.err()
		case <-failure:
			if err := d.listener.err(); err != nil {
				return err
			}
			failure = d.listener.nextFailure()
		}
	}
	return fmt.Errorf("cannot flush the memtable: %w", d.listener.lastFailure())
}

// enter keeps the folder there until leave; it is false after close.
func (d *db) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.snapshots++
	return true
}

func (d *db) leave() {
	d.mu.Lock()
	d.snapshots--
	last := d.closed && d.snapshots == 0
	d.mu.Unlock()
	if last {
		d.o.FS.RemoveAll(d.o.Dir)
	}
}

// close ends the DB and removes its folder; while snapshots are left, the last of them removes it. A second call does
// nothing.
func (d *db) close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	d.end()
	idle := d.snapshots == 0
	d.mu.Unlock()
	// Without a write-ahead log what the memtable holds goes with it, which is wanted: the state is that of the last
	// checkpoint.
	err := d.p.Close()
	if idle {
		if rerr := d.o.FS.RemoveAll(d.o.Dir); err == nil {
			err = rerr
		}
	}
	if err != nil {
		return fmt.Errorf("closing the state in %s: %w", d.o.Dir, err)
	}
	return nil
}

// linkOrCopy makes a second name for a file that never changes.
func linkOrCopy(fs vfs.FS, from, to string) error {
	if err := fs.Link(from, to); err == nil {
		return nil
	}
	return vfs.Copy(fs, from, to)
}

// writeFile makes a file with the bytes.
func writeFile(fs vfs.FS, path string, b []byte) error {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	// A File may change what it is given, which an io.Writer may not.
	_, err = f.Write(bytes.Clone(b))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
