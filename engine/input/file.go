// Package input reads the files that a job can count: CSV and NDJSON, plain or compressed with gzip. What a file is
// shows in its content, never in its name. A file is checked whole before a job starts on it.
package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"
)

// The limits of a file.
const (
	MaxLine    = 1 << 20 // bytes of a line, and of a CSV row over several lines
	MaxColumns = 10000
	MaxName    = 1000 // bytes of a column's name
	MaxRatio   = 200  // decompressed bytes for each compressed one, once past ratioFrom
	ratioFrom  = 16 << 20
	sampleRows = 5
	sampleText = 200 // bytes of a value in the sample
)

// Format is how the rows of a file are written.
type Format string

// The formats.
const (
	CSV    Format = "csv"
	NDJSON Format = "ndjson"
)

// File is a file that was read to its end and found good.
type File struct {
	Name    string // as the user gave it
	Format  Format
	Gzip    bool
	Columns []string // of NDJSON, every name that occurs in a row, in order of first occurrence
	Rows    int64
	Bytes   int64      // decompressed
	Sample  [][]string // the first rows, one value a column; long values are cut

	open content
	// ragged counts, of NDJSON, whether a column is missing or no plain value in some row.
	ragged []bool
}

// Open checks the file at path: its format, its columns, every row. The error is an *Error that names the file and,
// where one is at fault, the line.
func Open(path string) (*File, error) { return OpenLimited(path, 0) }

// OpenLimited is Open for a file that may hold no more than maxBytes when decompressed; 0 is no limit.
func OpenLimited(path string, maxBytes int64) (*File, error) {
	if path == "" {
		return nil, &Error{File: "input", Reason: "no file is named"}
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, &Error{File: path, Reason: readReason(err)}
	case info.IsDir():
		return nil, &Error{File: path, Reason: "is a folder, not a file"}
	case !info.Mode().IsRegular():
		return nil, &Error{File: path, Reason: "is not a regular file"}
	}
	return inspect(path, func() (io.ReadCloser, error) { return os.Open(path) }, maxBytes)
}

// OpenBytes checks a file held in memory, which must not change as long as the File is used.
func OpenBytes(name string, data []byte, maxBytes int64) (*File, error) {
	return inspect(name, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }, maxBytes)
}

// start opens the content for reading rows.
func (f *File) start(limit int64) (*lines, error) {
	s, err := openStream(f.open, limit)
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, &Error{File: f.Name, Reason: readReason(err)}
	}
	return newLines(f.Name, s), nil
}

func inspect(name string, open content, limit int64) (*File, error) {
	f := &File{Name: name, open: open}
	l, err := f.start(limit)
	if err != nil {
		return nil, err
	}
	defer l.r.Close()
	f.Gzip = l.r.gzip
	if f.Format, err = format(l); err != nil {
		return nil, err
	}
	if f.Format == CSV {
		err = f.inspectCSV(&csvRows{lines: l})
	} else {
		err = f.inspectNDJSON(&ndjsonRows{lines: l})
	}
	if err != nil {
		return nil, err
	}
	f.Bytes = l.r.read
	return f, nil
}

// format looks at the first characters: a brace begins an object, and so NDJSON.
func format(l *lines) (Format, error) {
	for !l.eof && l.end-l.start < 512 {
		if err := l.fill(); err != nil {
			return "", err
		}
	}
	head := bytes.TrimPrefix(l.buf[l.start:l.end], utf8BOM)
	// A picture's first line may be short and have no NUL; with what follows it shows what it is.
	if !utf8.Valid(head[:min(4, len(head))]) && !mostlyText(head[:min(512, len(head))]) {
		return "", &Error{File: l.name, Line: 1, Reason: notText}
	}
	head = bytes.TrimLeft(head, " \t\r\n")
	switch {
	case len(head) == 0 && l.eof:
		return "", &Error{File: l.name, Reason: "is empty"}
	case len(head) == 0:
		return CSV, nil
	case head[0] == '{':
		return NDJSON, nil
	case head[0] == '[':
		rest := bytes.TrimLeft(head[1:], " \t\r\n")
		if len(rest) == 0 || rest[0] == '{' || rest[0] == '[' {
			return "", &Error{File: l.name, Reason: "is a JSON array; write one object a line (NDJSON)"}
		}
	}
	return CSV, nil
}

func (f *File) inspectCSV(c *csvRows) error {
	if err := c.next(); err != nil {
		if err == io.EOF {
			return &Error{File: f.Name, Reason: "is empty"}
		}
		return err
	}
	f.Columns = c.fields()
	if len(f.Columns) > MaxColumns {
		return c.failAt("the header has %d columns; %d are allowed", len(f.Columns), MaxColumns)
	}
	seen := make(map[string]int, len(f.Columns))
	for i, name := range f.Columns {
		switch first, twice := seen[name]; {
		case name == "":
			return c.failAt("column %d of the header has no name", i+1)
		case bytes.IndexByte([]byte(name), '\r') >= 0:
			return c.failAt("the lines end in a lone carriage return; save the file with line feeds")
		case len(name) > MaxName:
			return c.failAt("the name of column %d is longer than %d bytes", i+1, MaxName)
		case twice:
			return &Error{File: f.Name, Line: c.line, Column: name,
				Reason: fmt.Sprintf("the header names column %q twice, as columns %d and %d", clip(name, 60), first+1, i+1)}
		}
		seen[name] = i
	}
	for {
		if err := c.next(); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		if err := c.checkCount(len(f.Columns)); err != nil {
			return err
		}
		if f.Rows < sampleRows {
			row := c.fields()
			for i := range row {
				row[i] = clip(row[i], sampleText)
			}
			f.Sample = append(f.Sample, row)
		}
		f.Rows++
	}
	if f.Rows == 0 {
		return &Error{File: f.Name, Reason: "has a header but no rows"}
	}
	return nil
}

func (f *File) inspectNDJSON(n *ndjsonRows) error {
	columns := map[string]int{}
	var have, last []int64 // rows that have the column; the row that had it last
	for {
		if err := n.begin(); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		f.Rows++
		var row []string
		var m member
		for first := true; ; first = false {
			ok, err := n.json.next(&m, first)
			if err != nil {
				return n.fail("%s", err)
			}
			if !ok {
				break
			}
			name := n.memberName(&m)
			i, known := columns[string(name)]
			if !known {
				if len(name) > MaxName {
					return n.fail("a name is longer than %d bytes", MaxName)
				}
				if i = len(f.Columns); i == MaxColumns {
					return n.fail("the rows have more than %d different names", MaxColumns)
				}
				columns[string(name)] = i
				f.Columns = append(f.Columns, string(name))
				f.ragged = append(f.ragged, false)
				have, last = append(have, 0), append(last, 0)
			}
			if last[i] == f.Rows || !plain(m.value) {
				f.ragged[i] = true
			}
			last[i] = f.Rows
			have[i]++
			if f.Rows <= sampleRows {
				for len(row) <= i {
					row = append(row, "")
				}
				row[i] = sampleValue(m.value)
			}
		}
		if f.Rows <= sampleRows {
			f.Sample = append(f.Sample, row)
		}
	}
	if f.Rows == 0 {
		return &Error{File: f.Name, Reason: "is empty"}
	}
	if len(f.Columns) == 0 {
		return &Error{File: f.Name, Reason: "its objects are all empty: there is no column to count by"}
	}
	for i := range f.Columns {
		if have[i] != f.Rows {
			f.ragged[i] = true
		}
	}
	for i := range f.Sample {
		for len(f.Sample[i]) < len(f.Columns) {
			f.Sample[i] = append(f.Sample[i], "")
		}
	}
	return nil
}

// plain tells whether a value can be a key.
func plain(v []byte) bool { return v[0] != '{' && v[0] != '[' && v[0] != 'n' }

func sampleValue(v []byte) string {
	if v[0] == '"' {
		v = unescape(nil, v[1:len(v)-1])
	}
	return clip(string(v), sampleText)
}
