package lsm

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"weir/engine/checkpoint"
)

// importedTable is a table of another DB that is taken in.
type importedTable struct {
	pebble.SSTableInfo
	object  string // its name in the folder external
	bounded pebble.ExternalFile
}

// ingest takes the tables of a handle in by reference, none of them copied.
//
// Their keys bear sequence numbers of the other DB, so they cannot be ingested as they are; an external file can: all its
// keys count as written at the moment of the ingestion. The order does the rest. A deeper level holds what is older, so the
// levels go from the bottom up, each at once since its tables do not overlap, and the tables of level 0, which do, one by
// one from the oldest. That holds because a table has one version of a key at most, the source having had no open snapshot
// of Pebble's; and each table is cut to the key groups that are wanted, which no other table of this DB has. It is a
// construction of ours and no promise of Pebble's: TestImportRandomHistories keeps watch.
//
// Pebble never deletes external files. db.drop does, when a checkpoint no longer needs them.
func (r *restore) ingest(i int, p *pebble.DB, dir string) (int, error) {
	levels, err := p.SSTables()
	if err != nil {
		return 0, err
	}
	objects := map[string]string{}
	for _, o := range p.ObjProvider().List() {
		if o.IsExternal() {
			objects[o.DiskFileNum.String()] = o.Remote.CustomObjectName
		}
	}
	stored := map[string]checkpoint.StateFile{}
	for _, f := range r.from.States[i].Files {
		stored[f.Name] = f
	}
	n := 0
	for level := len(levels) - 1; level >= 0; level-- {
		var tables []importedTable
		for _, t := range levels[level] {
			table, ok := r.bound(i, t)
			if !ok {
				continue
			}
			if err := table.estimate(p); err != nil {
				return n, err
			}
			tables = append(tables, table)
		}
		for j := range tables {
			if err := r.link(dir, objects, stored, &tables[j]); err != nil {
				return n, err
			}
		}
		n += len(tables)
		if level > 0 {
			if err := r.ingestAtOnce(tables); err != nil {
				return n, err
			}
			continue
		}
		slices.SortFunc(tables, func(a, b importedTable) int {
			return cmp.Or(cmp.Compare(a.LargestSeqNum, b.LargestSeqNum), cmp.Compare(a.SmallestSeqNum, b.SmallestSeqNum), cmp.Compare(a.FileNum, b.FileNum))
		})
		for j := range tables {
			if err := r.ingestAtOnce(tables[j : j+1]); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// bound cuts a table to the wanted keys; false if none of its keys are.
func (r *restore) bound(i int, t pebble.SSTableInfo) (importedTable, bool) {
	keys := r.keys(r.path.Sources[i].Taken)
	start, end, inclusive := t.Smallest.UserKey, t.Largest.UserKey, !t.Largest.IsExclusiveSentinel()
	if string(start) < string(keys.Start) {
		start = keys.Start
	}
	if string(end) >= string(keys.End) {
		end, inclusive = keys.End, false
	}
	if string(start) > string(end) || string(start) == string(end) && !inclusive {
		return importedTable{}, false
	}
	return importedTable{SSTableInfo: t, bounded: pebble.ExternalFile{
		Locator: externalLocator, Size: max(t.Size, 1), HasPointKey: true,
		StartKey: slices.Clone(start), EndKey: slices.Clone(end), EndKeyIsInclusive: inclusive,
	}}, true
}

// estimate finds about how many of the table's bytes are wanted. All of them would show in the readings as the subtask's.
func (t *importedTable) estimate(p *pebble.DB) error {
	all, err := p.EstimateDiskUsage(t.Smallest.UserKey, t.Largest.UserKey)
	if err != nil {
		return err
	}
	wanted, err := p.EstimateDiskUsage(t.bounded.StartKey, t.bounded.EndKey)
	if err != nil {
		return err
	}
	if wanted < all {
		t.bounded.Size = max(uint64(float64(t.Size)*float64(wanted)/float64(all)), 1)
	}
	return nil
}

// link puts the file of a table into the folder external. Its name there is never given to other bytes.
func (r *restore) link(dir string, objects map[string]string, stored map[string]checkpoint.StateFile, t *importedTable) error {
	fs := r.o.FS
	var name string
	if t.BackingType == pebble.BackingTypeLocal {
		name = t.BackingSSTNum.String() + ".sst"
		f, ok := stored[name]
		if !ok {
			return fmt.Errorf("table %s is not among the files of the checkpoint", name)
		}
		t.object = f.Origin + "-" + name
	} else {
		object, ok := objects[t.BackingSSTNum.String()]
		if !ok {
			return fmt.Errorf("table %s is not among the tables that were taken in", t.BackingSSTNum)
		}
		t.object, name = object, path.Join(externalFolder, object)
	}
	t.bounded.ObjName = t.object
	here := path.Join(externalFolder, t.object)
	if f, ok := stored[name]; ok {
		f.Name = here
		r.known[here] = f
	}
	to := fs.PathJoin(r.db.dir, externalFolder, t.object)
	if _, err := fs.Stat(to); err == nil {
		return nil // another part of the same file
	}
	return linkOrCopy(fs, fs.PathJoin(dir, name), to)
}

func (r *restore) ingestAtOnce(tables []importedTable) error {
	if len(tables) == 0 {
		return nil
	}
	files := make([]pebble.ExternalFile, len(tables))
	for i := range tables {
		files[i] = tables[i].bounded
	}
	if _, err := r.db.p.IngestExternalFiles(context.Background(), files); err != nil {
		return fmt.Errorf("taking in %d tables: %w", len(files), r.db.why(err))
	}
	return r.db.listener.err()
}
