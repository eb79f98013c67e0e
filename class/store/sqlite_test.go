package store

import (
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"weir/class"
)

// TestAcknowledgedIsInTheFiles opens a copy of the files as they lie while the store has them open: what a server that is
// killed leaves.
func TestAcknowledgedIsInTheFiles(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, "sqlite:"+filepath.Join(dir, "c.db"))
	c := aClass(t, s)
	p := aPerson(t, s, c.ID, "Ana")
	r := aResult(p, "e", noon)
	_, _, err := s.AddResult(ctx, r)
	ok(t, err)
	left := t.TempDir()
	for _, name := range []string{"c.db", "c.db-wal"} {
		path := filepath.Join(dir, name)
		if info := got(os.Stat(path))(t); info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", name, info.Mode())
		}
		ok(t, os.WriteFile(filepath.Join(left, name), got(os.ReadFile(path))(t), 0o600))
	}
	after := opened(t, "sqlite:"+filepath.Join(left, "c.db"))
	if all := got(after.Results(ctx, c.ID, p.ID))(t); len(all) != 1 || all[0].ID != r.ID {
		t.Errorf("%+v", all)
	}
	if kept, _, err := after.AddResult(ctx, r); kept || err != nil {
		t.Errorf("sent again: %v, %v", kept, err)
	}
}

func TestSQLiteWritesThrough(t *testing.T) {
	s := opened(t, "sqlite:"+filepath.Join(t.TempDir(), "c.db"))
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "10000"} {
		var value string
		ok(t, s.writes.QueryRow("PRAGMA "+pragma).Scan(&value))
		if value != want {
			t.Errorf("%s is %s, expected %s", pragma, value, want)
		}
	}
}

// TestTables holds the tables of a backup to those that the migrations make, in both databases. What is of the servers alone
// is in no backup.
func TestTables(t *testing.T) {
	want := map[string]bool{"servers.id": true, "servers.url": true, "servers.pin": true, "servers.seen": true, "secrets.name": true, "secrets.value": true}
	for _, one := range tables {
		for _, c := range one.columns {
			want[one.name+"."+c.name] = true
		}
	}
	onBoth(t, func(t *testing.T, s *Store, _ string) {
		list := `SELECT table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = 'public'`
		if s.postgres == nil {
			list = `SELECT t.name || '.' || c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c WHERE t.type = 'table'`
		}
		have := map[string]bool{}
		ok(t, s.read(ctx, "test", func(q *query) error {
			return q.each(list, nil, func(scan func(...any) error) error {
				var name string
				err := scan(&name)
				if !strings.HasPrefix(name, "goose_") && !strings.HasPrefix(name, "sqlite_") {
					have[name] = true
				}
				return err
			})
		}))
		same(t, have, want)
	})
}

// TestNewerTables has a program refuse a database that a newer one made.
func TestNewerTables(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, url string) {
		yes := "1"
		if s.postgres != nil {
			yes = "true"
		}
		_, err := s.writes.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, ` + yes + `)`)
		ok(t, err)
		_, err = Open(ctx, url)
		refused(t, err, class.ErrInvalid)
	})
}

func TestLongNames(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store, _ string) {
		c := aClass(t, s)
		long := strings.Repeat("王", class.MostNameRunes)
		names := []string{aPerson(t, s, c.ID, long).Name, aPerson(t, s, c.ID, long).Name}
		sort.Strings(names)
		same(t, names, []string{long, long + " 2"})
		for _, p := range got(s.People(ctx, c.ID))(t) {
			ok(t, s.UpdatePerson(ctx, p.ID, func(p *class.Person) error { p.Hand, p.Alias = noon, " a\tb"; return nil }))
			if p = got(s.PersonByID(ctx, p.ID))(t); p.Alias != "a b" || p.Hand != noon {
				t.Errorf("%+v", p)
			}
		}
	})
}
