package lsm

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/objstorage/remote"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"

	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/trace"
)

// Compression of the tables' blocks.
type Compression string

// The compressions.
const (
	Snappy        Compression = "snappy"
	Zstd          Compression = "zstd"
	NoCompression Compression = "none"
)

func (c Compression) profile() (*block.CompressionProfile, error) {
	switch c {
	case Snappy, "":
		return block.SnappyCompression, nil
	case Zstd:
		return block.ZstdCompression, nil
	case NoCompression:
		return block.NoCompression, nil
	}
	return nil, fmt.Errorf("compression %q, must be %s, %s or %s", string(c), Snappy, Zstd, NoCompression)
}

// Options say where a DB lies and what it holds.
type Options struct {
	// Dir is a folder of this subtask's attempt alone. It is made if it is not there; Close leaves it empty.
	Dir string
	// FS is the file system; nil is that of the machine.
	FS             vfs.FS
	Key            serde.KeyType
	MaxParallelism int
	KeyGroups      keygroup.Range // of this subtask
	// Memory is shared by the task manager's DBs.
	Memory      *Memory
	Compression Compression
	// NoBloom leaves out the filters (10 bits a key), by which a table without the key is passed over.
	NoBloom bool
	// StateIDs numbers the states; the subtasks of one operator share it. Nil: the DB has its own.
	StateIDs *StateIDs
	// OverlapThreshold is the part of a restored handle's key groups that must be this subtask's for the handle to be the
	// base that the others are merged into; Flink's restore-overlap-fraction-threshold, 0 by default.
	OverlapThreshold float64
	// Clock gives the time in ms that a TTL goes by; nil is the wall clock.
	Clock func() int64
	// OnEvent, if not nil, hears what the DB does. It is called on any goroutine and must return at once.
	OnEvent func(Event)
	// Tracer has the tracepoints of the store; nil has none. Thread names the task's goroutine there.
	Tracer *trace.Tracer
	Thread string
}

func (o *Options) check() error {
	if o.Dir == "" {
		return fmt.Errorf("lsm state has no folder")
	}
	if o.Memory == nil {
		return fmt.Errorf("lsm state in %s has no memory budget", o.Dir)
	}
	if err := keygroup.CheckMaxParallelism(o.MaxParallelism); err != nil {
		return err
	}
	r := o.KeyGroups
	if r.Size() == 0 || r.First < 0 || r.Last >= o.MaxParallelism {
		return fmt.Errorf("lsm state: key groups %d to %d, must lie in 0 to %d", r.First, r.Last, o.MaxParallelism-1)
	}
	if !(o.OverlapThreshold >= 0 && o.OverlapThreshold <= 1) {
		return fmt.Errorf("lsm state: overlap threshold %v, must be 0 to 1", o.OverlapThreshold)
	}
	_, err := o.Compression.profile()
	return err
}

func newBackendID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// externalLocator names the place of tables that were taken in by reference, which is the folder external in the DB's own.
const externalLocator = remote.Locator("external")

// pebble makes Pebble's options. Files that the DB does not write itself lie in external.
func (o *Options) pebble(dir string, l *listener) *pebble.Options {
	p := &pebble.Options{
		FS:                          o.FS,
		Cache:                       o.Memory.cache,
		FileCache:                   o.Memory.files,
		MemTableSize:                o.Memory.memtable,
		MemTableStopWritesThreshold: 4,
		// Pebble compacts at half of it: at four tables one over the other, which is RocksDB's trigger.
		L0CompactionThreshold: 8,
		L0StopWritesThreshold: 24,
		LBaseMaxBytes:         64 << 20,
		DisableWAL:            true,
		FormatMajorVersion:    pebble.FormatTableFormatV6,
		Logger:                l,
		EventListener:         l.pebble(),
		// One compaction beside the task: the machine belongs to the tasks.
		CompactionConcurrencyRange: func() (int, int) { return 1, 2 },
	}
	profile, _ := o.Compression.profile()
	for i := range p.Levels {
		p.Levels[i].Compression = func() *block.CompressionProfile { return profile }
		if !o.NoBloom {
			p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		}
	}
	p.Experimental.RemoteStorage = remote.MakeSimpleFactory(map[remote.Locator]remote.Storage{
		externalLocator: remote.NewLocalFS(o.FS.PathJoin(dir, externalFolder), o.FS),
	})
	return p
}
