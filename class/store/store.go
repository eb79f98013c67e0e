// Package store keeps classes in SQL: in an SQLite file of the data folder, or in PostgreSQL, which several servers may
// share. What a write acknowledged is on the disk.
//
// Errors: class.ErrNotFound, ErrClosed, ErrConflict and ErrInvalid are answers to a wrong request. The caller's own
// context.Canceled and DeadlineExceeded come back as they are. All else is class.ErrUnavailable: the database has
// trouble, the same call may work later, and a call that writes may or may not have been done.
package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"weir/class"
)

//go:embed migrations
var migrations embed.FS

const (
	callTime     = 15 * time.Second // of one call, if its context allows more
	connectTime  = 3 * time.Second
	migrateTries = 5
	readers      = 4  // connections that read an SQLite file
	connections  = 16 // to PostgreSQL
)

// Store is one database. Its methods may be called from any goroutine.
type Store struct {
	reads    *sql.DB
	writes   *sql.DB         // the same as reads on PostgreSQL; one connection on SQLite
	postgres *pgx.ConnConfig // nil on SQLite
	changes  *changes
}

// Open opens the database of a URL and brings its tables up to date: sqlite:PATH, whose file is made where there is none,
// or postgres://….
func Open(ctx context.Context, url string) (*Store, error) {
	s, err := connect(url)
	if err != nil {
		return nil, err
	}
	migrate, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := s.migrate(migrate); err != nil {
		_ = s.Close()
		return nil, s.trouble(ctx, "Open", err)
	}
	return s, nil
}

func connect(address string) (*Store, error) {
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		return openSQLite(path)
	}
	if strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://") {
		return openPostgres(address)
	}
	kind, _, _ := strings.Cut(address, ":") // no more of it: there may be a password
	return nil, fmt.Errorf("%w: a database %q, expected sqlite:PATH or postgres://…", class.ErrInvalid, kind)
}

func openSQLite(path string) (*Store, error) {
	if path == "" {
		return nil, fmt.Errorf("%w: sqlite: has no path, expected sqlite:PATH", class.ErrInvalid)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("%w: %w", class.ErrUnavailable, err)
	}
	// Made here, so that nobody else on the machine may read what learners handed in; SQLite gives its other files the same mode.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", class.ErrUnavailable, err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("%w: %w", class.ErrUnavailable, err)
	}
	open := func(query url.Values, most int) (*sql.DB, error) {
		query["_pragma"] = append(query["_pragma"], "busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "secure_delete(1)")
		u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query.Encode()}
		db, err := sql.Open("sqlite", u.String())
		if err == nil {
			db.SetMaxOpenConns(most)
			db.SetMaxIdleConns(most)
		}
		return db, err
	}
	s := &Store{changes: newChanges()}
	// A transaction that writes takes the lock when it begins, and so never finds at its end that another one was faster.
	if s.writes, err = open(url.Values{"_txlock": {"immediate"}}, 1); err != nil {
		return nil, err
	}
	if s.reads, err = open(url.Values{}, readers); err != nil {
		return nil, errors.Join(err, s.writes.Close())
	}
	return s, nil
}

func openPostgres(address string) (*Store, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("%w: the address of PostgreSQL: %w", class.ErrInvalid, err) // pgx leaves the password out
	}
	if config.ConnectTimeout == 0 || config.ConnectTimeout > 2*time.Minute {
		config.ConnectTimeout = connectTime
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "weir"
	}
	// A statement that a server no longer waits for must not hold its locks for ever.
	if config.RuntimeParams["statement_timeout"] == "" {
		config.RuntimeParams["statement_timeout"] = "60s"
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return &Store{reads: db, writes: db, postgres: config, changes: newChanges()}, nil
}

// migrate runs the migrations that are not in the database yet. Of several servers that start at once, one does.
func (s *Store) migrate(ctx context.Context) error {
	dialect, folder := goose.DialectSQLite3, "migrations/sqlite"
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	if s.postgres != nil {
		dialect, folder = goose.DialectPostgres, "migrations/postgres"
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 50))
		if err != nil {
			return err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	files, err := fs.Sub(migrations, folder)
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(dialect, s.writes, files, options...)
	if err != nil {
		return err
	}
	// Nothing keeps two processes from making the tables of one SQLite file at once: all but the first fail, whole, and find
	// them made the next time.
	for try := 0; ; try++ {
		_, err = p.Up(ctx)
		if err == nil {
			break
		}
		if s.postgres != nil || try == migrateTries {
			return err
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
	have, err := p.GetDBVersion(ctx)
	if err != nil {
		return err
	}
	if known := p.ListSources(); have > known[len(known)-1].Version {
		return fmt.Errorf("%w: the database has version %d of the tables, this program knows up to %d: run a newer one", class.ErrInvalid, have, known[len(known)-1].Version)
	}
	return nil
}

// Ping says whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	return s.read(ctx, "Ping", func(q *query) error {
		var n int
		return q.row(`SELECT COUNT(*) FROM classes WHERE id = ''`).scan(&n)
	})
}

// Close ends the calls to the database and all channels of Changes.
func (s *Store) Close() error {
	s.changes.close()
	err := s.reads.Close()
	if s.postgres == nil {
		// The last connection that closes writes the log into the file; it has to be one that may write.
		err = errors.Join(err, s.writes.Close())
	}
	return err
}
