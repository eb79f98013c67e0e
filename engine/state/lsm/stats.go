package lsm

import "weir/engine/state"

// Level is one level of the tree.
type Level struct {
	Files     int64
	Bytes     int64 // in the key range
	Sublevels int   // of level 0
	Score     float64
}

// Stats are what the page shows of a DB.
type Stats struct {
	// MemtableBytes is the memory of the memtables, MemtableWritten how much was written since the last flush was seen.
	MemtableBytes, MemtableWritten int64
	Memtables                      int64
	Levels                         []Level // 0 to 6
	// LiveBytes are those of the tables in range, HeldBytes those of the files they are in: after a clip more.
	LiveBytes, HeldBytes int64
	Files                int64

	Flushes, Compactions                  int64
	FlushedBytes                          int64
	CompactedInBytes, CompactedOutBytes   int64
	CompactionDebtBytes                   int64
	TablesCreated, TablesDeleted          int64
	TablesIngested                        int64
	WriteStalls                           int64
	WriteAmplification, ReadAmplification float64

	CacheBytes, CacheHits, CacheMisses int64 // of all DBs that share the budget
	FilterHits, FilterMisses           int64
	// Expired are values that RewriteExpired dropped.
	Expired int64

	// BudgetBytes is what the DBs share, MemtableLimitBytes the size of one memtable of this DB.
	BudgetBytes, MemtableLimitBytes int64
	Access
	States []StateStats
}

// Access counts what the task asked of a DB since it was opened. Every key and every value of it crossed the border between
// objects and bytes.
type Access struct {
	Gets, Puts                      int64
	KeyBytes, ReadBytes, WriteBytes int64
	WrittenKeyBytes                 int64 // those of KeyBytes that were written
	PrefixBuilt                     int64 // how often the current key's part of the keys was built
}

// written are the bytes that went into memtables.
func (a *Access) written() int64 { return a.WrittenKeyBytes + a.WriteBytes }

// StateStats are the figures of one state.
type StateStats struct {
	Name           string
	ID             uint16 // in the keys
	Kind           state.Kind
	Entries, Bytes int64
}

func (d *db) stats() Stats {
	m := d.p.Metrics()
	l := d.listener
	s := Stats{
		MemtableBytes: int64(m.MemTable.Size), Memtables: m.MemTable.Count,
		Flushes: l.flushes.Load(), Compactions: l.compactions.Load(), FlushedBytes: l.flushedOut.Load(),
		CompactedInBytes: l.compactedIn.Load(), CompactedOutBytes: l.compactedOut.Load(),
		CompactionDebtBytes: int64(m.Compact.EstimatedDebt),
		TablesCreated:       l.created.Load(), TablesDeleted: l.deleted.Load(), TablesIngested: l.ingested.Load(),
		WriteStalls: l.stalls.Load(),
		CacheBytes:  m.BlockCache.Size, CacheHits: m.BlockCache.Hits, CacheMisses: m.BlockCache.Misses,
		FilterHits: m.Filter.Hits, FilterMisses: m.Filter.Misses,
		ReadAmplification: float64(m.ReadAmp()),
		BudgetBytes:       d.o.Memory.Budget(), MemtableLimitBytes: d.o.Memory.MemtableBytes(), Access: d.access,
	}
	var virtual int64
	for i := range m.Levels {
		level := &m.Levels[i]
		s.Levels = append(s.Levels, Level{Files: level.TablesCount, Bytes: level.TablesSize, Sublevels: int(level.Sublevels), Score: level.Score})
		s.Files += level.TablesCount
		s.LiveBytes += level.TablesSize
		virtual += int64(level.VirtualTablesSize)
	}
	s.HeldBytes = s.LiveBytes - virtual + int64(m.Table.BackingTableSize)
	if s.FlushedBytes > 0 {
		s.WriteAmplification = float64(s.FlushedBytes+s.CompactedOutBytes) / float64(s.FlushedBytes)
	}
	return s
}
