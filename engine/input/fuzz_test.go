package input

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzCSV compares what Open and a Reader make of a file with the standard library's reader.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "a\r\n\"x\r\ny\"\r\n", "a,b\n\"x\"\"y\",\n", "a\n\"", "a\n\r", "\n\na\n\n,\n", "a,b\n\"1\n2\",3\n4\n", "a\n\"b\"c", "a\nb\"c", "a\r\r\nb"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := OpenBytes("f", data, 0)
		if err != nil {
			if _, ok := err.(*Error); !ok {
				t.Fatalf("%T: %v", err, err)
			}
		}
		if err == nil && (got.Format != CSV || got.Gzip) || bytes.HasPrefix(data, []byte("\x1f\x8b")) {
			return
		}
		text := bytes.TrimPrefix(data, utf8BOM)
		want, wantErr := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil {
			// Open refuses more; what it refuses for the rows alone must be what the library refuses.
			reason := err.(*Error).Reason
			if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
				return // taken for NDJSON
			}
			for _, r := range []string{"where the header has", "quote", "not closed"} {
				if strings.Contains(reason, r) && wantErr == nil {
					t.Fatalf("refused %q: %v", data, err)
				}
			}
			return
		}
		if wantErr != nil {
			t.Fatalf("accepted %q, want %v", data, wantErr)
		}
		if int64(len(want)) != got.Rows+1 {
			t.Fatalf("%q: %d rows, want %d", data, got.Rows, len(want)-1)
		}
		for i, column := range got.Columns {
			r, err := got.NewReader(column)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range want[1:] {
				if k, err := r.Next(); err != nil || string(k) != row[i] {
					t.Fatalf("%q: %q %v, want %q", data, k, err, row[i])
				}
			}
			if _, err := r.Next(); err != io.EOF {
				t.Fatalf("%q: %v behind the last row", data, err)
			}
		}
	})
}

// FuzzNDJSON compares each line with the standard library's decoder.
func FuzzNDJSON(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{"a":"x\u00e9\ud83d\ude00\ud800","b":[1,{"c":null}]}`, "{\"a\":1}\n{\"b\":2}\n", `{"a":-0.1e+5}`, `{"a":01}`, `{"a" : true , "a":false}`, `{"":{}}`, `{"a":"\x"}`, `{,}`, `{"a":1,}`, `{"a":[1,]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		j := jsonLine{b: line}
		var m member
		values := map[string]string{}
		err := j.open()
		for first := true; err == nil; first = false {
			var ok bool
			if ok, err = j.next(&m, first); err != nil || !ok {
				break
			}
			if !utf8.Valid(line) {
				continue
			}
			name := string(m.name)
			if m.escaped {
				name = string(unescape(nil, m.name))
			}
			values[name] = sampleValue(m.value)
		}
		var want map[string]json.RawMessage
		wantErr := json.Unmarshal(line, &want)
		isObject := wantErr == nil && want != nil
		if (err == nil) != isObject {
			if err != nil && strings.Contains(err.Error(), "deep") {
				return
			}
			t.Fatalf("%q: %v, want %v", line, err, wantErr)
		}
		if err != nil || !utf8.Valid(line) {
			return
		}
		if len(values) != len(want) {
			t.Fatalf("%q: %q, want %q", line, values, want)
		}
		for name, raw := range want {
			s := string(raw)
			if raw[0] == '"' {
				if err := json.Unmarshal(raw, &s); err != nil {
					t.Fatal(err)
				}
			}
			if values[name] != clip(s, sampleText) {
				t.Fatalf("%q: %q is %q, want %q", line, name, values[name], s)
			}
		}
	})
}

// FuzzOpen gives anything to Open, compressed or not: no panic, and an error that is one line.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(zip(f, "a,b\n1,2\n")))
	f.Add([]byte(zip(f, "{\"a\":1}\n{\"a\":null}")))
	f.Add([]byte("[1]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := OpenBytes("f", data, 1<<20)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Fatalf("%q", err)
			}
			return
		}
		for i, c := range file.Columns {
			if i == 3 {
				break
			}
			_ = file.CheckKey(c, 0)
			_ = file.CheckKey(c, 2)
		}
	})
}
