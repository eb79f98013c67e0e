package input

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unsafe"

	"weir/engine/serde"
)

// Reader reads the key column of a file, row after row. It belongs to one goroutine; a file may have many readers.
type Reader struct {
	lines  *lines
	column string
	index  int // of the column in a CSV row
	width  int
	csv    *csvRows
	json   *ndjsonRows
	row    int64
}

// NewReader begins at the file's first row. A column that the file does not have is an *Error that lists those it has.
func (f *File) NewReader(column string) (*Reader, error) {
	index := slices.Index(f.Columns, column)
	if index < 0 {
		return nil, f.noColumn(column)
	}
	l, err := f.start(0)
	if err != nil {
		return nil, err
	}
	r := &Reader{lines: l, column: column, index: index, width: len(f.Columns)}
	if f.Format == NDJSON {
		r.json = &ndjsonRows{lines: l}
		return r, nil
	}
	r.csv = &csvRows{lines: l}
	if err = r.csv.next(); err == nil && !slices.Equal(r.csv.fields(), f.Columns) {
		err = r.csv.failAt("the header is not the one it was when the file was checked")
	}
	if err != nil {
		l.r.Close()
		if err == io.EOF {
			err = &Error{File: f.Name, Reason: "is empty now"}
		}
		return nil, err
	}
	return r, nil
}

func (f *File) noColumn(column string) error {
	reason := fmt.Sprintf("has no column %q; its columns are %s", clip(column, 60), listColumns(f.Columns))
	if column == "" {
		reason = "no key column is named; its columns are " + listColumns(f.Columns)
	}
	if f.Format == CSV && len(f.Columns) == 1 {
		for _, between := range []struct{ mark, name string }{{";", "semicolons"}, {"\t", "tabs"}, {"|", "bars"}} {
			if strings.Contains(f.Columns[0], between.mark) {
				reason += "; its fields seem to stand between " + between.name + ": save it with commas"
				break
			}
		}
	}
	return &Error{File: f.Name, Column: column, Reason: reason}
}

// Next returns the key of the next row, as text: a view that lives until the next call. io.EOF follows the last row. A
// number in NDJSON is the text it is written as.
func (r *Reader) Next() ([]byte, error) {
	if r.csv != nil {
		if err := r.csv.next(); err != nil {
			return nil, err
		}
		if err := r.csv.checkCount(r.width); err != nil {
			return nil, err
		}
		r.row++
		return r.csv.field(r.index), nil
	}
	if err := r.json.next(r.column); err != nil {
		return nil, err
	}
	r.row++
	return r.json.key, nil
}

// Row is the number of rows read.
func (r *Reader) Row() int64 { return r.row }

// Line is the line on which the last row began.
func (r *Reader) Line() int64 {
	if r.csv != nil {
		return r.csv.line
	}
	return r.lines.number
}

// Close closes the file.
func (r *Reader) Close() error { return r.lines.r.Close() }

// CheckKey tells whether every row has a key of the given type in the column. It reads the file again only if the
// first reading left that open.
func (f *File) CheckKey(column string, t serde.KeyType) error {
	index := slices.Index(f.Columns, column)
	if index < 0 {
		return f.noColumn(column)
	}
	if t == serde.String && (f.Format == CSV || !f.ragged[index]) {
		return nil
	}
	r, err := f.NewReader(column)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		text, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := r.Key(text, t); err != nil {
			return err
		}
	}
}

// Key makes the text of the last row's key one of the type. A String key is a view of text.
func (r *Reader) Key(text []byte, t serde.KeyType) (serde.Key, error) {
	k, err := serde.ParseKey(t, view(text))
	if err != nil {
		reason := fmt.Sprintf("column %q: %s", clip(r.column, 60), clip(err.Error(), 200))
		return k, &Error{File: r.lines.name, Line: r.Line(), Column: r.column, Reason: reason}
	}
	return k, nil
}

// view is b as a string without a copy: it lives as long as b stays unchanged.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
