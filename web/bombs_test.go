package web

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

func gzipped(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipped(t *testing.T, name string, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// form is a form with one file, as a browser sends it.
func formWith(fileName string, content []byte) string {
	return "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + fileName + "\"\r\n\r\n" + string(content) + "\r\n--b--\r\n"
}

func (f *fakeServer) uploadAs(token, form string) *httptest.ResponseRecorder {
	return f.as(token, "POST", "/api/v1/inputs", form, "Content-Type", "multipart/form-data; boundary=b")
}

// Files that would be more than they look like are refused with what is wrong, and leave nothing on the disk.
func TestUploadedBombs(t *testing.T) {
	f, k, _ := newFakeClass(t, ClassLimits{})
	ann := f.joined(t, k.ID, "Ann")
	rows := append([]byte("a,b\n"), bytes.Repeat([]byte("0,0\n"), 8<<20)...) // 32 MiB
	names := strings.Builder{}
	for i := range 20_000 {
		fmt.Fprintf(&names, "{\"n%d\":1}\n", i)
	}
	part := "--b\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\n\r\n"
	for _, c := range []struct {
		name, form string
		status     int
		says       string
	}{
		{"a small gzip file that is large", formWith("a.csv.gz", gzipped(t, rows)), 422, "times"},
		{"gzip in gzip", formWith("a.csv.gz", gzipped(t, gzipped(t, rows))), 422, ""},
		{"a zip archive", formWith("a.csv", zipped(t, "a.csv", rows)), 422, ""},
		{"a zip archive in gzip", formWith("a.csv.gz", gzipped(t, zipped(t, "../../a.csv", []byte("a,b\n1,2\n")))), 422, ""},
		{"a million columns", formWith("a.csv", []byte(strings.Repeat("c,", 1_000_000)+"c\n")), 422, ""},
		{"a hundred thousand columns in a short row", formWith("a.csv", []byte(strings.Repeat(",", 100_000)+"\n")), 422, "columns"},
		{"a row without an end", formWith("a.csv", []byte("a,b\n\""+strings.Repeat("x", 2<<20))), 422, "longer"},
		{"a name of 10 KB", formWith("a.csv", []byte(strings.Repeat("n", 10_000)+",b\n1,2\n")), 422, "name"},
		{"rows with 20,000 names", formWith("a.ndjson", []byte(names.String())), 422, "names"},
		{"deep JSON", formWith("a.ndjson", []byte(`{"a":`+strings.Repeat("[", 500_000)+"\n")), 422, ""},
		{"nothing", formWith("a.csv", nil), 422, ""},
		{"zeros", formWith("a.csv", make([]byte, 3<<20)), 422, ""},
		{"many parts", strings.Repeat(part, 100_000) + formWith("a.csv", []byte("a,b\n1,2\n")), 413, "parts"},
		{"a form without an end", part[:len(part)/2], 422, "no file"},
		{"a header of 12 MB", formWith(strings.Repeat("n", 12<<20), []byte("a,b\n1,2\n")), 400, "not complete"},
	} {
		w := f.uploadAs(ann.token, c.form)
		p := problemIn(t, w)
		if p.Status != c.status || p.Field != "file" || !strings.Contains(p.Detail, c.says) || len(p.Detail) > 1000 {
			t.Errorf("%s: %d %.300s, want %d with %q", c.name, w.Code, w.Body, c.status, c.says)
		}
		if left := filesBelow(t, f.inputs.dir); len(left) != 0 {
			t.Errorf("%s: left on the disk: %v", c.name, left)
		}
	}
}

func filesBelow(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return nil // a folder that is not there has none
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A file's name is the learner's word: it never leads anywhere.
func TestNamesOfFiles(t *testing.T) {
	f, k, _ := newFakeClass(t, ClassLimits{Uploads: 1})
	ann := f.joined(t, k.ID, "Ann")
	for _, name := range []string{"../../../etc/passwd.csv", `..\..\x.csv`, "/etc/x.csv", "a\x00b.csv", "...csv", strings.Repeat("n", 5000) + ".csv", "<b>x</b>.csv", ".csv", ""} {
		w := f.uploadAs(ann.token, formWith(name, []byte("a,b\n1,2\n")))
		if w.Code >= 400 { // a form that has no such name is refused as a whole
			problemIn(t, w)
			continue
		}
		var got inputInfo
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 201 {
			t.Errorf("%.40q: %d %s", name, w.Code, w.Body)
			continue
		}
		files := filesBelow(t, f.inputs.dir)
		if len(files) != 1 || filepath.Dir(files[0]) != filepath.Join(f.inputs.dir, got.ID) || strings.ContainsAny(got.Name, "/\\<>\x00") || len(got.Name) > 80 {
			t.Errorf("%.40q: called %q, kept at %q", name, got.Name, files)
		}
	}
}
