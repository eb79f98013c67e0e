package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// One who wants all gets their own share; when little is left, who has less than an equal share may take more and who has
// more may not; and when nothing is left, nobody.
func TestDiskIsAFairShare(t *testing.T) {
	const m = 1 << 20
	d := newDisks(ClassLimits{DiskEach: 40 * m, Disk: 80 * m})
	of := func(p string) belongs { return belongs{"k", p} }
	takes := func(p string, n int64, reason string) {
		t.Helper()
		err := d.take(of(p), n)
		var full *diskError
		if reason == "" != (err == nil) || err != nil && (!errors.As(err, &full) || !strings.Contains(err.Error(), reason)) {
			t.Errorf("%q takes %d MiB: %v, want %q", p, n/m, err, reason)
		}
	}
	takes("greedy", 40*m, "")
	takes("greedy", 1, "40 MiB of disk are allowed for each learner and 40 MiB are taken")
	takes("second", 20*m, "")
	takes("third", 10*m, "") // the last eighth is begun with what follows
	takes("second", 8*m, "26 MiB are an equal share")
	takes("fourth", 9*m, "")
	takes("fifth", 2*m, "the 80 MiB of disk that this server has")
	takes("", 2*m, "the 80 MiB of disk")
	takes("fifth", 1*m, "")
	takes("fifth", 1, "the 80 MiB of disk")
	d.give(of("greedy"), 40*m)
	takes("fifth", 30*m, "")
	takes("", 10*m, "") // the instructor's, who is no learner
	if d.total != 80*m || len(d.used) != 5 || d.refused != 5 {
		t.Errorf("%d MiB of %d people, %d refused", d.total/m, len(d.used), d.refused)
	}
}

// A session's disk counts what its files have, whatever becomes of them.
func TestShelf(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "before"), make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	d := newDisks(ClassLimits{DiskEach: 1000, Disk: 10_000})
	ann := belongs{"k", "ann"}
	s := d.newShelf(ann, dir)
	has := func(want int64) {
		t.Helper()
		if d.total != want || d.used[ann] != want {
			t.Errorf("%d bytes are counted, %d of Ann, want %d", d.total, d.used[ann], want)
		}
	}
	write := func(path string, sizes ...int) error {
		t.Helper()
		f, err := s.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		for _, n := range sizes {
			if _, err := f.Write(make([]byte, n)); err != nil {
				return err
			}
		}
		return nil
	}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	has(100)
	one, two := filepath.Join(dir, "chk-1"), filepath.Join(dir, "chk-10")
	ok(errors.Join(s.Mkdir(one), s.Mkdir(two)))
	ok(write(filepath.Join(one, "a"), 200, 50))
	ok(write(filepath.Join(one, "m.part"), 30))
	ok(s.Rename(filepath.Join(one, "m.part"), filepath.Join(one, "m")))
	ok(write(filepath.Join(two, "a"), 20))
	has(400)
	ok(write(filepath.Join(one, "a"), 10)) // emptied first
	has(160)
	var full *diskError
	if err := write(filepath.Join(two, "b"), 500, 500); !errors.As(err, &full) {
		t.Errorf("more than is allowed: %v", err)
	}
	has(660)
	ok(s.RemoveAll(one)) // and not what only begins alike
	has(620)
	ok(s.RemoveAll(two))
	has(100)
	s.clear()
	has(0)
}

func uploadOf(t *testing.T, f *fakeServer, token string, size int) *httptest.ResponseRecorder {
	t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	w, err := m.CreateFormFile("file", "rows.csv")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = fmt.Fprint(w, "key,value\n", strings.Repeat("aaaaaaa,1\n", size/10))
	_ = m.Close()
	return f.as(token, "POST", "/api/v1/inputs", b.String(), "Content-Type", m.FormDataContentType())
}

// Uploads count as long as they are kept; one that is too much is refused with what is allowed, and another learner's is not.
func TestUploadsCountOnTheDisk(t *testing.T) {
	f, k, _ := newFakeClass(t, ClassLimits{DiskEach: 64 << 10, Uploads: 2})
	ann, ben := f.joined(t, k.ID, "Ann"), f.joined(t, k.ID, "Ben")
	for range 3 { // the oldest makes room
		if w := uploadOf(t, f, ann.token, 20<<10); w.Code != http.StatusCreated {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	mine := belongs{k.ID, ann.Person}
	used := f.course.disks.used[mine]
	if used < 40<<10 || used > 41<<10 {
		t.Errorf("two files of 20 KiB count %d bytes", used)
	}
	said := answerOf[problem](t, uploadOf(t, f, ann.token, 40<<10), http.StatusTooManyRequests)
	if said.Field != "disk" || !strings.Contains(said.Detail, "64 KiB") {
		t.Errorf("too much: %+v", said)
	}
	if now := f.course.disks.used[mine]; now != used {
		t.Errorf("what was refused counts: %d bytes, before %d", now, used)
	}
	if w := uploadOf(t, f, ben.token, 40<<10); w.Code != http.StatusCreated {
		t.Errorf("another learner: %d %s", w.Code, w.Body)
	}
	f.inputs.removeOf(ann.Person)
	if now := f.course.disks.used[mine]; now != 0 {
		t.Errorf("without files %d bytes are left", now)
	}
}

// A running job whose checkpoints pass the quota has them fail with the reason; the job of another learner goes on taking
// its own, and what was taken is free again when the greedy one's session ends.
func TestCheckpointsPastTheQuota(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := newServer(ctx, Options{DataDir: t.TempDir(), Class: &ClassOptions{}}.withDefaults(), startLab)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		if err := s.close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	f := &fakeServer{Server: s}
	k, _, err := s.course.makeClass(t.Context(), "Streams", "UTC")
	if err != nil {
		t.Fatal(err)
	}
	begin := func(name string) (*session, belongs) {
		who := f.joined(t, k.ID, name)
		sess, err := s.startSession(context.WithValue(t.Context(), callerKey{}, who), "backpressure",
			map[string]any{"rate": 500.0, "checkpointIntervalMs": 60_000.0}, "", "")
		if err != nil {
			t.Fatal(err)
		}
		return sess, belongs{k.ID, who.Person}
	}
	modest, ben := begin("Ben")
	greedy, ann := begin("Ann")
	savepoint := func(sess *session) error {
		_, err := sess.run.Action("savepoint", nil)
		return err
	}
	for deadline := time.Now().Add(time.Minute); savepoint(modest) != nil; time.Sleep(50 * time.Millisecond) { // until it runs
		if time.Now().After(deadline) {
			t.Fatal("no savepoint of a job alone")
		}
	}
	d := s.course.disks
	d.mu.Lock()
	one := d.used[ben]
	d.each = 6 * one
	d.mu.Unlock()
	if one == 0 {
		t.Fatal("a savepoint counts nothing")
	}
	failure := ""
	for range 200 {
		if err := savepoint(greedy); err != nil {
			failure = err.Error()
		}
		for _, c := range greedy.run.Snapshot().Checkpoints {
			failure += c.Failure
		}
		if strings.Contains(failure, "allowed for each learner") {
			break
		}
	}
	if !strings.Contains(failure, "allowed for each learner") {
		t.Errorf("200 savepoints later: %q", failure)
	}
	d.mu.Lock()
	if d.used[ann] > d.each || d.refused == 0 {
		t.Errorf("%d of %d bytes are taken, %d writes refused", d.used[ann], d.each, d.refused)
	}
	d.mu.Unlock()
	if err := savepoint(modest); err != nil {
		t.Errorf("another learner's savepoint: %v", err)
	}
	if err := s.endSession(greedy.id); err != nil {
		t.Error(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.used[ann] != 0 || d.total != d.used[ben] {
		t.Errorf("after its end %d bytes are counted, %d of the greedy one", d.total, d.used[ann])
	}
}
