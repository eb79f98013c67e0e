package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"

	"weir/class"
)

// query is one transaction, in which both dialects are spoken to alike: a ? is an argument, times are microseconds, yes is
// 1, and what has no column type of its own is JSON.
type query struct {
	ctx      context.Context
	tx       *sql.Tx
	postgres bool
	changed  bool // other servers are told
}

// read runs f in a transaction that sees one state of the database.
func (s *Store) read(ctx context.Context, method string, f func(q *query) error) error {
	return s.call(ctx, method, func(ctx context.Context) error {
		_, err := s.try(ctx, s.reads, s.reading(), f)
		return err
	})
}

// reading are the options of a transaction that sees one state of the database.
func (s *Store) reading() *sql.TxOptions {
	o := &sql.TxOptions{ReadOnly: true}
	if s.postgres != nil {
		o.Isolation = sql.LevelRepeatableRead
	}
	return o
}

// write runs f in a transaction that is on the disk when write returns without an error. f may run more than once: the
// database may ask for another try when transactions got in each other's way.
func (s *Store) write(ctx context.Context, method string, f func(q *query) error) error {
	return s.call(ctx, method, func(ctx context.Context) error {
		for try := 0; ; try++ {
			changed, err := s.try(ctx, s.writes, nil, f)
			var refused *pgconn.PgError
			if errors.As(err, &refused) && (refused.Code == "40001" || refused.Code == "40P01") && try < 5 {
				if err := pause(ctx, try); err != nil {
					return err
				}
				continue
			}
			if err == nil && changed && s.postgres == nil {
				s.changes.signal()
			}
			return err
		}
	})
}

// call bounds the time of a call and has its error told apart.
func (s *Store) call(ctx context.Context, method string, f func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return s.trouble(ctx, method, f(bounded))
}

func (s *Store) try(ctx context.Context, db *sql.DB, options *sql.TxOptions, f func(*query) error) (changed bool, err error) {
	tx, err := db.BeginTx(ctx, options)
	if err != nil {
		return false, err
	}
	q := &query{ctx: ctx, tx: tx, postgres: s.postgres != nil}
	err = f(q)
	if err == nil && q.changed && q.postgres {
		err = q.exec(`SELECT pg_notify(?, '')`, notifyChannel)
	}
	if err != nil {
		_ = tx.Rollback() // what went wrong before says more
		return false, err
	}
	return q.changed, tx.Commit()
}

// pause waits a little before another try, longer each time.
func pause(ctx context.Context, try int) error {
	t := time.NewTimer(time.Duration(1+rand.IntN(4<<min(try, 5))) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// trouble makes of an error one that the package's comment names.
func (s *Store) trouble(ctx context.Context, method string, err error) error {
	var pg *pgconn.PgError
	var lite *sqlite.Error
	kind := class.ErrUnavailable
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("store: %s: %w", method, class.ErrNotFound)
	case errors.Is(err, class.ErrNotFound), errors.Is(err, class.ErrClosed), errors.Is(err, class.ErrConflict),
		errors.Is(err, class.ErrInvalid), errors.Is(err, class.ErrUnavailable):
		return fmt.Errorf("store: %s: %w", method, err)
	case ctx.Err() != nil:
		return fmt.Errorf("store: %s: %w", method, context.Cause(ctx))
	case errors.As(err, &pg):
		switch {
		case pg.Code == "23505":
			kind = class.ErrConflict
		case pg.Code == "23503":
			kind = class.ErrNotFound
		case strings.HasPrefix(pg.Code, "22"), strings.HasPrefix(pg.Code, "23"), pg.Code == "54000":
			kind = class.ErrInvalid
		}
	case errors.As(err, &lite):
		switch lite.Code() {
		case 1555, 2067: // a primary key or a unique index
			kind = class.ErrConflict
		case 787: // a foreign key
			kind = class.ErrNotFound
		case 18: // a value longer than the file can have
			kind = class.ErrInvalid
		}
	}
	// The driver's words are for the log; its type is not handed on.
	return fmt.Errorf("store: %s: %w: %s", method, kind, err.Error())
}

// dialect writes a statement with PostgreSQL's $1 for each ?. No statement has a ? of another meaning.
func (q *query) dialect(statement string) string {
	if !q.postgres {
		return statement
	}
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, found := strings.Cut(statement, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("$" + strconv.Itoa(n))
		statement = after
	}
}

// locked is what follows a SELECT of rows that are read in order to decide: they stay as they are until the transaction
// ends. On SQLite a transaction that writes has the whole file.
func (q *query) locked() string {
	if q.postgres {
		return " FOR NO KEY UPDATE"
	}
	return ""
}

// shared is locked for rows that others may read in the same way.
func (q *query) shared() string {
	if q.postgres {
		return " FOR SHARE"
	}
	return ""
}

// exec runs a statement.
func (q *query) exec(statement string, args ...any) error {
	_, err := q.count(statement, args...)
	return err
}

// count runs a statement and says how many rows it touched.
func (q *query) count(statement string, args ...any) (int64, error) {
	args, err := columns(args)
	if err != nil {
		return 0, err
	}
	r, err := q.tx.ExecContext(q.ctx, q.dialect(statement), args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

type row struct {
	*sql.Row
	err error
}

func (q *query) row(statement string, args ...any) row {
	args, err := columns(args)
	if err != nil {
		return row{err: err}
	}
	return row{Row: q.tx.QueryRowContext(q.ctx, q.dialect(statement), args...)}
}

// scan is sql.ErrNoRows where there is none.
func (r row) scan(to ...any) error {
	if r.err != nil {
		return r.err
	}
	return r.Scan(fields(to)...)
}

// each calls f for each row of a statement. scan fills variables with the columns.
func (q *query) each(statement string, args []any, f func(scan func(...any) error) error) error {
	args, err := columns(args)
	if err != nil {
		return err
	}
	rows, err := q.tx.QueryContext(q.ctx, q.dialect(statement), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(func(to ...any) error { return rows.Scan(fields(to)...) }); err != nil {
			return err
		}
	}
	return rows.Err()
}

// asJSON is a value that is kept as JSON; to read, it holds a pointer.
type asJSON struct{ value any }

// columns turns arguments into what both databases keep alike.
func columns(args []any) ([]any, error) {
	for i, a := range args {
		switch v := a.(type) {
		case time.Time:
			args[i] = micros(v)
		case bool:
			args[i] = 0
			if v {
				args[i] = 1
			}
		case []byte:
			args[i] = append([]byte{}, v...)
		case json.RawMessage:
			args[i] = append([]byte{}, v...)
		case class.State:
			args[i] = string(v)
		case asJSON:
			text, err := json.Marshal(v.value)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", class.ErrInvalid, err)
			}
			args[i] = string(text)
		case string:
			if !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
				return nil, fmt.Errorf("%w: a text with bytes that are no text", class.ErrInvalid)
			}
		}
	}
	return args, nil
}

// micros is a time as it is kept; 0 is none. What lies outside of 1970 to 9999, as a wrong clock may send it, is moved to
// the end of that.
func micros(t time.Time) int64 {
	const last = 253402300799_000000
	if t.IsZero() {
		return 0
	}
	if t.Year() > 9999 {
		return last
	}
	return min(max(t.UnixMicro(), 1), last)
}

// fields turns pointers to our types into what a row can be scanned into.
func fields(to []any) []any {
	for i, p := range to {
		switch p.(type) {
		case *time.Time, *bool, *class.State, *json.RawMessage, asJSON:
			to[i] = field{p}
		}
	}
	return to
}

type field struct{ to any }

// Scan implements sql.Scanner.
func (f field) Scan(src any) error {
	switch to := f.to.(type) {
	case *time.Time:
		n, ok := src.(int64)
		*to = time.Time{}
		if n != 0 {
			*to = time.UnixMicro(n).UTC()
		}
		return expected(ok, "a time", src)
	case *bool:
		n, ok := src.(int64)
		*to = n != 0
		return expected(ok, "yes or no", src)
	case *class.State:
		text, ok := src.(string)
		*to = class.State(text)
		return expected(ok, "a text", src)
	case *json.RawMessage:
		b, ok := src.([]byte)
		*to = nil
		if len(b) > 0 {
			*to = append(json.RawMessage{}, b...)
		}
		return expected(ok, "bytes", src)
	case asJSON:
		text, ok := src.(string)
		if !ok {
			return expected(ok, "a text of JSON", src)
		}
		return json.Unmarshal([]byte(text), to.value)
	}
	return fmt.Errorf("a column of type %T has no variable", src)
}

func expected(ok bool, what string, src any) error {
	if !ok {
		return fmt.Errorf("a column of type %T, expected %s", src, what)
	}
	return nil
}
