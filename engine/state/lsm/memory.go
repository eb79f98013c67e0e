package lsm

import (
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// Limits of a budget's parts.
const (
	minBudget    = 1 << 20
	minMemtable  = 256 << 10
	maxMemtable  = 512 << 20
	openFilesMax = 1000
)

// Memory is what the DBs of one task manager share: a block cache, and the size that it leaves to each DB's memtables.
// Flink's RocksDBMemoryControllerUtils shares a cache and a write buffer manager the same way; Pebble charges memtables to
// the cache but has no such manager, so the budget is divided once: half for the memtables, in equal parts, two a DB: one that is written, and one that is being flushed or waits to be used again.
type Memory struct {
	cache    *pebble.Cache
	files    *pebble.FileCache
	budget   int64
	memtable uint64
	closed   sync.Once
}

// NewMemory makes a budget in bytes for at most dbs DBs open at a time.
func NewMemory(budget int64, dbs int) (*Memory, error) {
	if budget < minBudget {
		return nil, fmt.Errorf("state memory of %d bytes, expected at least %d", budget, int64(minBudget))
	}
	if dbs < 1 {
		return nil, fmt.Errorf("state memory for %d subtasks, expected 1 or more", dbs)
	}
	m := &Memory{budget: budget, cache: pebble.NewCache(budget)}
	m.files = pebble.NewFileCache(1, openFilesMax)
	m.memtable = uint64(min(max(budget/(4*int64(dbs)), minMemtable), maxMemtable))
	return m, nil
}

// Budget is the whole budget in bytes, MemtableBytes the part of one memtable.
func (m *Memory) Budget() int64        { return m.budget }
func (m *Memory) MemtableBytes() int64 { return int64(m.memtable) }

// Close gives the memory back. All DBs must be closed before. A second call does nothing.
func (m *Memory) Close() {
	m.closed.Do(func() {
		m.files.Unref()
		m.cache.Unref()
	})
}
