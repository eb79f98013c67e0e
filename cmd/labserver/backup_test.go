package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/class"
	"weir/class/store"
)

// aClassIn makes a class with one person in a server's data folder.
func aClassIn(t *testing.T, data string) {
	t.Helper()
	st, err := store.Open(t.Context(), "sqlite:"+filepath.Join(data, "class", "weir.db"))
	if err != nil {
		t.Fatal(err)
	}
	_, hash := class.NewToken()
	id := class.NewID()
	if err := st.CreateClass(t.Context(), class.Class{ID: id, Code: class.NewCode(), Zone: "UTC", Created: time.Now(), TokenHash: hash}); err != nil {
		t.Fatal(err)
	}
	if _, err := st.AddPerson(t.Context(), id, "Ana", "", hash); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestBackupAndRestoreCommands(t *testing.T) {
	data, file := t.TempDir(), filepath.Join(t.TempDir(), "classes.backup")
	if _, errs, status := labserver(t, "", "backup", "--data", data, file); status != 2 || !strings.Contains(errs, "no such file") {
		t.Errorf("a backup of nothing: status %d, %q", status, errs)
	}
	if _, err := os.Stat(filepath.Join(data, "class")); err == nil {
		t.Error("the backup of nothing made a database")
	}
	aClassIn(t, data)
	if out, errs, status := labserver(t, "", "backup", "--data", data, file); status != 0 || out != file+"\n" {
		t.Fatalf("status %d: %q %q", status, out, errs)
	}
	other := filepath.Join(t.TempDir(), "new", "other.db")
	out, errs, status := labserver(t, "", "restore", "--db", "sqlite:"+other, file)
	if status != 0 || !strings.HasPrefix(out, "restored 1 classes, 1 people, 0 results, backed up ") {
		t.Fatalf("status %d: %q %q", status, out, errs)
	}
	if _, errs, status := labserver(t, "", "restore", "--db", "sqlite:"+other, file); status != 2 || !strings.Contains(errs, "--force") {
		t.Errorf("over classes: status %d, %q", status, errs)
	}
	if _, errs, status := labserver(t, "", "restore", "--db", "sqlite:"+other, "--force", file); status != 0 {
		t.Errorf("with --force: status %d, %q", status, errs)
	}
	for name, args := range map[string][]string{
		"no FILE":                {"backup"},
		"a folder":               {"backup", "--data", data, data},
		"no database":            {"backup", "--db", "redis://x", file},
		"no backup":              {"restore", "--db", "sqlite:" + other, "backup_test.go"},
		"FILE that is not there": {"restore", "--db", "sqlite:" + other, "none"},
	} {
		if _, errs, status := labserver(t, "", args...); status != 2 || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: status %d, %q", name, status, errs)
		}
	}
	if _, errs, status := labserver(t, "", "backup", "--db", "postgres://127.0.0.1:1/none?sslmode=disable", file); status != 1 || !strings.Contains(errs, "does not answer") {
		t.Errorf("PostgreSQL that is not there: status %d, %q", status, errs)
	}
}
