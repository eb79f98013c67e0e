package store

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"weir/class"
)

// TestBackupAndRestore moves all of each database into each other, and finds the same there.
func TestBackupAndRestore(t *testing.T) {
	for _, from := range sorted(databases) {
		for _, to := range sorted(databases) {
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				source := opened(t, databases[from](t))
				c := aClass(t, source)
				p := filled(t, source, c)
				ok(t, source.PutSession(ctx, class.Session{ID: "i", Class: c.ID, Server: "b"})) // the instructor's has no person
				twin := aPerson(t, source, c.ID, "Ana")
				ok(t, source.Merge(ctx, c.ID, twin.ID, p.ID))
				file := filepath.Join(t.TempDir(), "b.weir")
				ok(t, source.Backup(ctx, file))
				if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%v, mode %v", err, info.Mode())
				}

				url := databases[to](t)
				r, err := Restore(ctx, url, file, false)
				ok(t, err)
				if r.Classes != 1 || r.People != 2 || r.Results != 1 || r.Taken.IsZero() {
					t.Errorf("%+v", r)
				}
				target := opened(t, url)
				same(t, got(target.Classes(ctx))(t), got(source.Classes(ctx))(t))
				same(t, got(target.People(ctx, c.ID))(t), got(source.People(ctx, c.ID))(t))
				same(t, got(target.PersonByToken(ctx, twin.TokenHash))(t).ID, p.ID)
				again := filepath.Join(t.TempDir(), "again.weir")
				ok(t, target.Backup(ctx, again))
				if a, b := lines(t, file), lines(t, again); !bytes.Equal(a, b) {
					t.Errorf("a backup of what was restored is another:\n%s\n%s", a, b)
				}

				// What has classes is not lost by chance, and by intent only whole.
				other := aClass(t, target)
				_, err = Restore(ctx, url, file, false)
				refused(t, err, class.ErrConflict)
				same(t, len(got(target.Classes(ctx))(t)), 2)
				cut := damaged(t, file, func(b []byte) []byte { return b[:len(b)-20] })
				_, err = Restore(ctx, url, cut, true)
				refused(t, err, class.ErrInvalid)
				same(t, len(got(target.Classes(ctx))(t)), 2)
				_, err = Restore(ctx, url, file, true)
				ok(t, err)
				_, err = target.ClassByID(ctx, other.ID)
				refused(t, err, class.ErrNotFound)
			})
		}
	}
}

// lines are those of a backup but the first, which has the time.
func lines(t *testing.T, file string) []byte {
	t.Helper()
	f := got(os.Open(file))(t)
	defer f.Close()
	z := got(gzip.NewReader(f))(t)
	var b bytes.Buffer
	_, err := b.ReadFrom(z)
	ok(t, err)
	_, rest, _ := bytes.Cut(b.Bytes(), []byte("\n"))
	return rest
}

func damaged(t *testing.T, file string, how func([]byte) []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "damaged")
	ok(t, os.WriteFile(path, how(got(os.ReadFile(file))(t)), 0o600))
	return path
}

func TestDamagedBackups(t *testing.T) {
	file := func(lines ...string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		for _, l := range lines {
			_, err := z.Write([]byte(l + "\n"))
			ok(t, err)
		}
		ok(t, z.Close())
		path := filepath.Join(t.TempDir(), "b")
		ok(t, os.WriteFile(path, b.Bytes(), 0o600))
		return path
	}
	head := string(got(json.Marshal(backupHead{Format: backupFormat, Version: backupVersion}))(t))
	person := `{"t":"people","r":["p","none","n","n","",1,1,0,"{}","","",1]}`
	for name, path := range map[string]string{
		"another file":    damaged(t, file(head), func([]byte) []byte { return []byte("SQLite format 3") }),
		"another format":  file(`{"format":"x","version":1}`),
		"a newer version": file(`{"format":"`+backupFormat+`","version":2}`, `{"end":true}`),
		"no end":          file(head),
		"another count":   file(head, `{"end":true,"rows":3}`),
		"a strange table": file(head, `{"t":"goose_db_version","r":[1]}`, `{"end":true,"rows":1}`),
		"a strange cell":  file(head, `{"t":"progress","r":[1,""]}`, `{"end":true,"rows":1}`),
		"more at the end": file(head, `{"end":true}`, person),
		"turned bits":     damaged(t, file(head, `{"end":true}`), func(b []byte) []byte { b[len(b)-6] ^= 1; return b }),
		"no file":         filepath.Join(t.TempDir(), "none"),
	} {
		url := "sqlite:" + filepath.Join(t.TempDir(), "c.db")
		if _, err := Restore(ctx, url, path, true); err == nil {
			t.Errorf("%s: restored", name)
		} else {
			refused(t, err, class.ErrInvalid)
		}
	}
	// A row that refers to none.
	url := "sqlite:" + filepath.Join(t.TempDir(), "c.db")
	_, err := Restore(ctx, url, file(head, person, `{"end":true,"rows":1}`), true)
	refused(t, err, class.ErrNotFound)
}
