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

func TestClassCommands(t *testing.T) {
	data := t.TempDir()
	if _, errs, status := labserver(t, "", "class", "link", "--data", data); status != 2 || !strings.Contains(errs, "no such file") {
		t.Errorf("without a database: status %d, %q", status, errs)
	}
	st, err := store.Open(t.Context(), "sqlite:"+filepath.Join(data, "class", "weir.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	old, hash := class.NewToken()
	first := class.Class{ID: class.NewID(), Name: "Streams A", Code: class.NewCode(), Zone: "UTC", State: class.Open, Created: time.Now(), Expires: time.Now().Add(time.Hour), TokenHash: hash}
	if err := st.CreateClass(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(data, "class", "instructor.token")
	if err := os.WriteFile(kept, []byte(old+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := st.PutServer(t.Context(), class.Server{ID: "one", URL: "http://192.0.2.7:8090", Seen: time.Now()}); err != nil {
		t.Fatal(err)
	}
	out, errs, status := labserver(t, "", "class", "link", "--data", data)
	_, token, ok := strings.Cut(out, "instructor link: http://192.0.2.7:8090/class/i/")
	token = strings.TrimSpace(token)
	if status != 0 || !ok || token == old || !strings.Contains(out, "class: Streams A\njoin code: "+class.ShowCode(first.Code)) {
		t.Fatalf("status %d: %q %q", status, out, errs)
	}
	if k, err := st.ClassByToken(t.Context(), class.HashToken(token)); err != nil || k.ID != first.ID {
		t.Errorf("the new link is of %+v, %v", k, err)
	}
	if _, err := st.ClassByToken(t.Context(), hash); err == nil {
		t.Error("the old link still leads there")
	}
	if b, err := os.ReadFile(kept); err != nil || string(b) != token+"\n" {
		t.Errorf("the server would print %q, %v", b, err)
	}
	log, err := st.AuditLog(t.Context(), first.ID)
	if err != nil || len(log) != 1 || log[0].Who != "operator" || log[0].What != "new instructor link" || strings.Contains(log[0].About, token) {
		t.Errorf("the audit log has %+v, %v", log, err)
	}

	_, otherHash := class.NewToken()
	second := first
	second.ID, second.Code, second.Name, second.TokenHash = class.NewID(), class.NewCode(), "Streams B", otherHash
	if err := st.CreateClass(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if out, errs, status := labserver(t, "", "class", "list", "--data", data); status != 0 || !strings.Contains(out, "Streams A") || !strings.Contains(out, class.ShowCode(second.Code)) {
		t.Errorf("list: status %d: %q %q", status, out, errs)
	}
	if out, errs, status := labserver(t, "", "class", "link", "--data", data, strings.ToLower(class.ShowCode(second.Code))); status != 0 || !strings.Contains(out, "class: Streams B") {
		t.Errorf("by the code: status %d: %q %q", status, out, errs)
	}
	if b, err := os.ReadFile(kept); err != nil || string(b) != token+"\n" {
		t.Errorf("the link of another class took the place: %q, %v", b, err)
	}
	for name, args := range map[string][]string{"which of two": {}, "none of them": {"Streams C"}, "too many": {"a", "b"}} {
		if out, errs, status := labserver(t, "", append([]string{"class", "link", "--data", data}, args...)...); status != 2 || errs == "" || out != "" {
			t.Errorf("%s: status %d: %q %q", name, status, out, errs)
		}
	}
	if _, errs, status := labserver(t, "", "class", "lnk"); status != 2 || !strings.Contains(errs, "list and link") {
		t.Errorf("an unknown command: status %d, %q", status, errs)
	}
}
