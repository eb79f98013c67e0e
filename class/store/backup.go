package store

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"weir/class"
	"weir/whole"
)

// A backup is the same for both databases: gzip of lines of JSON. The first names the format and its version, each
// further one is a row, and the last counts them, so that a file that was cut off is known.
const (
	backupFormat  = "weir class backup"
	backupVersion = 1
)

type backupHead struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Taken   time.Time `json:"taken"`
}

// backupLine is a row, or the end.
type backupLine struct {
	Table string            `json:"t,omitempty"`
	Row   []json.RawMessage `json:"r,omitempty"`
	End   bool              `json:"end,omitempty"`
	Rows  int               `json:"rows,omitempty"`
}

// kind is what a column holds, in both databases.
type kind byte

const (
	text  kind = iota
	maybe      // a text or nothing
	number
	binary
)

type column struct {
	name string
	kind kind
}

type table struct {
	name    string
	columns []column
}

// tables in an order in which each refers to earlier ones only.
var tables = []table{
	{"classes", listed("id name code zone state created# expires# scoreboard# may_drive# steering token_hash* revision#")},
	{"people", listed("id class name name_key alias joined# seen# hand# place merged token_hash* revision#")},
	{"progress", listed("person data*")},
	{"results", listed("id class person exercise status points# max_points# verified# late# engine digest source sent# received# report* work*")},
	{"deadlines", listed("class exercise due# penalty#")},
	{"extensions", listed("class exercise person due#")},
	{"questions", listed("id class text choices lab knobs asked# ended#")},
	{"answers", listed("question person choice# at#")},
	{"sessions", listed("id class person? server lab knobs dir started#")},
	{"audit", listed("id class at# who what about")},
}

// listed reads columns: # after one that is a number, * after bytes, ? after a text that may be missing.
func listed(names string) (all []column) {
	kinds := map[byte]kind{'#': number, '*': binary, '?': maybe}
	for _, name := range strings.Fields(names) {
		k := kinds[name[len(name)-1]]
		all = append(all, column{strings.TrimRight(name, "#*?"), k})
	}
	return all
}

func (t *table) list() string {
	var names []string
	for _, c := range t.columns {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}

// variable is where a column is read into and what JSON has of it.
func (k kind) variable() any {
	switch k {
	case number:
		return new(int64)
	case binary:
		return new([]byte)
	case maybe:
		return new(*string)
	}
	return new(string)
}

// Backup writes all classes, as they are at one moment, to a file from which Restore makes them again in either
// database. The file takes the place of another of its name only when it is whole. Learners' work is in it and hashes of their
// tokens: only its owner may read it.
func (s *Store) Backup(ctx context.Context, path string) error {
	if err := whole.Replace(path, 0o600, func(w io.Writer) error { return s.backup(ctx, w) }); err != nil {
		return fmt.Errorf("store: Backup: %w", err)
	}
	return nil
}

func (s *Store) backup(ctx context.Context, to io.Writer) error {
	z := gzip.NewWriter(to)
	e := json.NewEncoder(z)
	e.SetEscapeHTML(false)
	if err := e.Encode(backupHead{backupFormat, backupVersion, time.Now().UTC()}); err != nil {
		return err
	}
	rows := 0
	// Without callTime: a large backup may take longer.
	_, err := s.try(ctx, s.reads, s.reading(), func(q *query) error {
		if q.postgres {
			if err := q.exec(`SET LOCAL statement_timeout = 0`); err != nil {
				return err
			}
		}
		for i := range tables {
			t := &tables[i]
			err := q.each(`SELECT `+t.list()+` FROM `+t.name+` ORDER BY 1`, nil, func(scan func(...any) error) error {
				rows++
				return writeRow(e, t, scan)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return s.trouble(ctx, "Backup", err)
	}
	if err := e.Encode(backupLine{End: true, Rows: rows}); err != nil {
		return err
	}
	return z.Close()
}

func writeRow(e *json.Encoder, t *table, scan func(...any) error) error {
	values := make([]any, len(t.columns))
	for i, c := range t.columns {
		values[i] = c.kind.variable()
	}
	if err := scan(append([]any{}, values...)...); err != nil {
		return err
	}
	line := backupLine{Table: t.name, Row: make([]json.RawMessage, len(values))}
	for i, v := range values {
		var err error
		if line.Row[i], err = json.Marshal(v); err != nil {
			return err
		}
	}
	return e.Encode(line)
}

// Restored counts what a backup had.
type Restored struct {
	Taken                    time.Time
	Classes, People, Results int
}

// Restore puts the classes of a backup in the place of what the database of a URL has, all of them or, with an error, none.
// A database that has classes is an ErrConflict unless force is set.
func Restore(ctx context.Context, url, path string, force bool) (Restored, error) {
	f, err := os.Open(path)
	if err != nil {
		return Restored{}, fmt.Errorf("%w: %w", class.ErrInvalid, err)
	}
	defer f.Close()
	// Looked at whole before the database is touched.
	if _, err := readBackup(f, func(*table, []any) error { return nil }); err != nil {
		return Restored{}, fmt.Errorf("%w: %s: %w", class.ErrInvalid, path, err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return Restored{}, err
	}
	s, err := Open(ctx, url)
	if err != nil {
		return Restored{}, err
	}
	r, err := s.restore(ctx, f, force)
	return r, errors.Join(err, s.Close())
}

func (s *Store) restore(ctx context.Context, f io.Reader, force bool) (r Restored, err error) {
	_, err = s.try(ctx, s.writes, nil, func(q *query) error {
		q.changed = true
		if q.postgres { // nobody may add a class between the look and the end
			if err := q.exec(`LOCK TABLE classes IN EXCLUSIVE MODE`); err != nil {
				return err
			}
		}
		have := 0
		if err := q.row(`SELECT COUNT(*) FROM classes`).scan(&have); err != nil {
			return err
		}
		if have > 0 && !force {
			return fmt.Errorf("%w: the database has classes (%d), which would be lost", class.ErrConflict, have)
		}
		if err := q.exec(`DELETE FROM classes`); err != nil {
			return err
		}
		head, err := readBackup(f, func(t *table, row []any) error {
			switch t.name {
			case "classes":
				r.Classes++
			case "people":
				r.People++
			case "results":
				r.Results++
			}
			return q.exec(`INSERT INTO `+t.name+` (`+t.list()+`) VALUES (?`+strings.Repeat(`, ?`, len(t.columns)-1)+`)`, row...)
		})
		r.Taken = head.Taken
		return err
	})
	if err != nil {
		return Restored{}, s.trouble(ctx, "Restore", err)
	}
	s.changes.signal()
	return r, nil
}

// readBackup calls f for each row. Its own errors are those of the file.
func readBackup(from io.Reader, f func(*table, []any) error) (head backupHead, err error) {
	z, err := gzip.NewReader(bufio.NewReaderSize(from, 1<<16))
	if err != nil {
		return head, fmt.Errorf("not a backup: %w", err)
	}
	d := json.NewDecoder(z)
	if err := d.Decode(&head); err != nil || head.Format != backupFormat {
		return head, errors.New("not a backup of classes")
	}
	if head.Version != backupVersion {
		return head, fmt.Errorf("a backup of version %d, this program reads %d", head.Version, backupVersion)
	}
	byName := map[string]*table{}
	for i := range tables {
		byName[tables[i].name] = &tables[i]
	}
	for rows := 0; ; rows++ {
		var line backupLine
		if err := d.Decode(&line); err != nil {
			return head, fmt.Errorf("row %d: the file is cut off or damaged: %w", rows+1, err)
		}
		if line.End {
			if line.Rows != rows {
				return head, fmt.Errorf("%d rows, expected %d", rows, line.Rows)
			}
			break
		}
		t := byName[line.Table]
		if t == nil || len(line.Row) != len(t.columns) {
			return head, fmt.Errorf("row %d: no table %q with %d columns", rows+1, line.Table, len(line.Row))
		}
		row, err := readRow(t, line.Row)
		if err != nil {
			return head, fmt.Errorf("row %d: %w", rows+1, err)
		}
		if err := f(t, row); err != nil {
			return head, err
		}
	}
	// To the end, where gzip compares its checksum.
	if rest, err := io.Copy(io.Discard, io.MultiReader(d.Buffered(), z)); err != nil || rest > 1 {
		return head, errors.Join(fmt.Errorf("%d bytes after the last row", rest), err)
	}
	return head, nil
}

func readRow(t *table, cells []json.RawMessage) ([]any, error) {
	row := make([]any, len(cells))
	for i, cell := range cells {
		c := &t.columns[i]
		if bytes.Equal(cell, []byte("null")) && c.kind != maybe && c.kind != binary {
			return nil, fmt.Errorf("%s.%s: nothing", t.name, c.name)
		}
		v := c.kind.variable()
		if err := json.Unmarshal(cell, v); err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t.name, c.name, err)
		}
		switch v := v.(type) {
		case *string:
			row[i] = *v
		case **string:
			row[i] = *v
		case *int64:
			row[i] = *v
		case *[]byte:
			row[i] = *v
		}
	}
	return row, nil
}
