package input

import (
	"bytes"
	"compress/gzip"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/engine/serde"
)

func zip(t testing.TB, s string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(s))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestOpenAccepts(t *testing.T) {
	for _, c := range []struct {
		name, data string
		format     Format
		columns    string
		rows       int64
		key        string
		keys       string // in file order
	}{
		{"plain", "a,b\n1,x\n2,y\n", CSV, "a b", 2, "b", "x y"},
		{"no newline at the end", "a,b\n1,x\n2,y", CSV, "a b", 2, "b", "x y"},
		{"carriage returns", "a,b\r\n1,x\r\n2,y\r\n", CSV, "a b", 2, "b", "x y"},
		{"byte order mark", "\ufeffa,b\n1,x\n", CSV, "a b", 1, "a", "1"},
		{"empty lines", "\na,b\n\n1,x\n\r\n2,y\n\n", CSV, "a b", 2, "a", "1 2"},
		{"one column", "a\nx\ny\n", CSV, "a", 2, "a", "x y"},
		{"quotes", "\"a\",\"b,c\"\n\"x\"\"y\",\"1,2\"\n\"\",z\n", CSV, "a b,c", 2, "a", "x\"y "},
		{"newline in quotes", "a,b\n1,\"x\ny\r\nz\"\n2,w\n", CSV, "a b", 2, "b", "x\ny\nz w"},
		{"empty values", "a,b\n,\n1,\n", CSV, "a b", 2, "a", " 1"},
		{"a brace in a header", "a{,b\n1,2\n", CSV, "a{ b", 1, "b", "2"},
		{"a bracket in a header", "[a],b\n1,2\n", CSV, "[a] b", 1, "b", "2"},
		{"objects", "{\"a\":1,\"b\":\"x\"}\n{\"b\":\"y\",\"a\":-2.5e3}\n", NDJSON, "a b", 2, "a", "1 -2.5e3"},
		{"blank lines", "\n  \n{\"a\":true}\r\n\n { \"a\" : false } ", NDJSON, "a", 2, "a", "true false"},
		{"escapes", `{"\u0061":"\u00e9\"\n\ud83d\ude00\ud800x","n":{"a":[1,{"b":null}]}}`, NDJSON, "a n", 1, "a", "é\"\n😀\ufffdx"},
		{"some rows lack a column", "{\"a\":1}\n{\"a\":2,\"c\":null}\n", NDJSON, "a c", 2, "a", "1 2"},
	} {
		for _, zipped := range []bool{false, true} {
			data := c.data
			if zipped {
				data = zip(t, data)
			}
			f, err := OpenBytes("f", []byte(data), 0)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			if f.Format != c.format || strings.Join(f.Columns, " ") != c.columns || f.Rows != c.rows || f.Gzip != zipped || f.Bytes != int64(len(c.data)) {
				t.Errorf("%s: %s %q %d rows, gzip %v, %d bytes", c.name, f.Format, f.Columns, f.Rows, f.Gzip, f.Bytes)
			}
			if err := f.CheckKey(c.key, serde.String); err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			var got []string
			at := slices.Index(f.Columns, c.key)
			r, err := f.NewReader(c.key)
			for err == nil {
				var k []byte
				if k, err = r.Next(); err == nil {
					got = append(got, string(k))
				}
			}
			r.Close()
			if strings.Join(got, " ") != c.keys {
				t.Errorf("%s: keys %q, want %q", c.name, got, c.keys)
			}
			for i, row := range f.Sample {
				if row[at] != got[i] {
					t.Errorf("%s: sample %q", c.name, row)
				}
			}
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	long := strings.Repeat("x", MaxLine+1)
	wide := strings.Repeat("a,", MaxColumns) + "b\n"
	for _, c := range []struct{ name, data, want string }{
		{"empty", "", "f: is empty"},
		{"blank", " \n\n", "f: is empty"},
		{"only newlines", "\n\n", "f: is empty"},
		{"header only", "a,b\n", "f: has a header but no rows"},
		{"binary", "\x00\x01\x02\x03", "f line 1: holds a NUL byte: the file is binary, not CSV or NDJSON text"},
		{"a picture", "\x89PNG\r\n\x1a\n\x01\x02\x03\x04\x05\x06\x07\x08\xff", "f line 1: the file is binary"},
		{"another encoding", "\xe9t\xe9,b\n1,2\n", "f line 1: byte 1 (0xE9) is not valid UTF-8"},
		{"binary without NUL", "\x89PNG\r\x1a\x01\x02\x03\xff\n", "f line 1: the file is binary"},
		{"NUL later", "a\nx\ny\x00\n", "f line 3: holds a NUL byte"},
		{"zip", "PK\x03\x04aaaa", "f: is a zip archive; unpack it"},
		{"UTF-16", "\xff\xfea\x00", "f: is UTF-16; save it as UTF-8"},
		{"latin-1", "a,b\n1,caf\xe9\n", "f line 2: byte 6 (0xE9) is not valid UTF-8; save the file as UTF-8"},
		{"short row", "a,b\n1,2\n3\n", "f line 3: 1 field where the header has 2"},
		{"long row", "a,b\n1,2\n3,4,5\n", "f line 3: 3 fields where the header has 2"},
		{"ragged behind a row over three lines", "a,b\n1,\"x\ny\nz\"\n3\n", "f line 5: 1 field"},
		{"ragged over three lines", "a,b\n1,2\n\"x\ny\nz\"\n", "f line 3: 1 field"},
		{"name twice", "a,b,a\n1,2,3\n", "f line 1: the header names column \"a\" twice, as columns 1 and 3"},
		{"no name", "a,,b\n1,2,3\n", "f line 1: column 2 of the header has no name"},
		{"lone returns", "a,b\r1,2\r", "f line 1: the lines end in a lone carriage return"},
		{"quote inside", "a\nx\"y\n", "f line 2: a quote inside a field"},
		{"behind quote", "a\n\"x\"y\n", "f line 2: text behind the closing quote"},
		{"not closed", "a\nx\n\"y\nz\n", "f line 3: the quoted field is not closed before the end of the file"},
		{"line too long", "a\n" + long + "\n", "f line 2: is longer than 1048576 bytes"},
		{"row too long", "a\n\"" + strings.Repeat("xxxxxxxxx\n", 200000) + "\"\n", "f line 2: the row is longer than 1048576 bytes"},
		{"too wide", wide + wide, "f line 1: the header has 10001 columns; 10000 are allowed"},
		{"array", "[\n{\"a\":1}]", "f: is a JSON array; write one object a line (NDJSON)"},
		{"not an object", "{\"a\":1}\n[1]\n", "f line 2: is not a JSON object"},
		{"broken JSON", "{\"a\":1}\n{\"a\":}\n", "f line 2: not valid JSON: byte 6 is '}' where a value was expected"},
		{"an object over several lines", "{\n \"a\": 1\n}\n", "f line 1: not valid JSON: the line ends where a name in quotes was expected; an object must be whole on its line"},
		{"cut JSON", "{\"a\":1}\n{\"a\":\"x", "f line 2: not valid JSON: the line ends where the closing quote of a string was expected"},
		{"two objects a line", "{\"a\":1}{\"a\":2}\n", "f line 1: not valid JSON: byte 8"},
		{"empty objects", "{}\n{}\n", "f: its objects are all empty"},
		{"deep JSON", "{\"a\":" + strings.Repeat("[", 2000) + "\n", "f line 1: objects and arrays lie more than 1000 deep"},
		{"cut gzip", zip(t, strings.Repeat("a\n", 1000))[:20], "the gzip data is cut off here"},
		{"damaged gzip", zip(t, "a\nb\n")[:20] + "xxxxxxxx", "the gzip data is damaged here (gzip: invalid checksum)"},
		{"bomb", zip(t, "a\n"+strings.Repeat(strings.Repeat("0", 99)+"\n", 400000)), "expands to more than 200 times its compressed size"},
	} {
		_, err := OpenBytes("f", []byte(c.data), 0)
		var e *Error
		if err == nil || !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

func TestPathsRefused(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		"":                             "no file is named",
		filepath.Join(dir, "none"):     "none: no such file",
		dir:                            "is a folder, not a file",
		filepath.Join(dir, "none", ""): "no such file",
	} {
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", path, err, want)
		}
	}
	if _, err := OpenBytes("f", []byte("a\nb\nc\n"), 5); err == nil || !strings.Contains(err.Error(), "is larger than allowed") {
		t.Errorf("over the limit: %v", err)
	}
}

func TestKeysRefused(t *testing.T) {
	for _, c := range []struct {
		name, data, column string
		t                  serde.KeyType
		want               string
	}{
		{"missing column", "a,b\n1,2\n", "dest", serde.String, "f: has no column \"dest\"; its columns are a, b"},
		{"odd names", "\"a\nb\",c\n1,2\n", "dest", serde.String, "its columns are \"a\\nb\", c"},
		{"no column named", "a,b\n1,2\n", "", serde.String, "f: no key column is named; its columns are a, b"},
		{"semicolons", "a;b\n1;2\n", "a", serde.String, "its columns are a;b; its fields seem to stand between semicolons: save it with commas"},
		{"tabs", "a\tb\n1\t2\n", "a", serde.String, "between tabs: save it with commas"},
		{"bars in one of two", "a|b,c\n1,2\n", "d", serde.String, "its columns are a|b, c"},
		{"a column without a name", "{\"\":1}\n", "a", serde.String, "its columns are \"\""},
		{"a name with a space", "a, b\n1,2\n", "b", serde.String, "its columns are a, \" b\""},
		{"missing name", "{\"a\":1}\n", "dest", serde.String, "f: has no column \"dest\"; its columns are a"},
		{"row without it", "{\"a\":1}\n\n{\"b\":1}\n", "a", serde.String, "f line 3: the object has no \"a\""},
		{"null", "{\"a\":1}\n{\"a\":null}\n", "a", serde.String, "f line 2: \"a\" is null"},
		{"nested", "{\"a\":1}\n{\"a\":{}}\n", "a", serde.String, "f line 2: \"a\" is not a string, number, true or false"},
		{"twice", "{\"a\":1}\n{\"a\":1,\"a\":2}\n", "a", serde.String, "f line 2: \"a\" stands twice in the object"},
		{"not a long", "a,b\n1,2\nx,3\n", "a", serde.Long, "f line 3: column \"a\": long key \"x\", must be a whole decimal number"},
	} {
		f, err := OpenBytes("f", []byte(c.data), 0)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if err := f.CheckKey(c.column, c.t); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

func TestFlights(t *testing.T) {
	f, err := Open(flightsPath)
	if err != nil {
		t.Fatal(err)
	}
	if f.Rows != 336776 || !f.Gzip || len(f.Columns) != 10 || f.Sample[0][destColumn] != "IAH" {
		t.Errorf("%d rows, columns %q, sample %q", f.Rows, f.Columns, f.Sample[0])
	}
	dest := count(t, f, "dest")
	var sum int64
	for n := range maps.Values(dest) {
		sum += n
	}
	if len(dest) != 105 || sum != f.Rows || dest["ORD"] != 17283 || dest["LEX"] != 1 {
		t.Errorf("%d destinations, %d rows, ORD %d, LEX %d", len(dest), sum, dest["ORD"], dest["LEX"])
	}
	if n := len(count(t, f, "tailnum")); n != 4044 {
		t.Errorf("%d tail numbers", n)
	}
}

func TestFileChangedMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.csv")
	write := func(s string) {
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a,b\n1,2\n")
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	write("a,c\n1,2\n")
	if _, err := f.NewReader("b"); err == nil || !strings.Contains(err.Error(), "line 1: the header is not the one") {
		t.Errorf("header changed: %v", err)
	}
	write("")
	if _, err := f.NewReader("b"); err == nil || !strings.Contains(err.Error(), "is empty now") {
		t.Errorf("emptied: %v", err)
	}
}

func TestReadingAllocatesNothing(t *testing.T) {
	csv := "a,b\n" + strings.Repeat("1,xyz\n2,\"x,y\"\n", 5000)
	json := strings.Repeat("{\"a\":1,\"b\":\"x\\ny\"}\n", 10000)
	for _, data := range []string{csv, json} {
		f, err := OpenBytes("f", []byte(data), 0)
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.NewReader("b")
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(9000, func() { r.Next() }); n != 0 {
			t.Errorf("%s: %v allocations a row", f.Format, n)
		}
		r.Close()
	}
}

func BenchmarkFlights(b *testing.B) {
	f, err := Open(flightsPath)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		count(b, f, "dest")
	}
	b.ReportMetric(float64(f.Rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
