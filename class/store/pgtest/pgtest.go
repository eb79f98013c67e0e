//go:build unix

// Package pgtest runs a PostgreSQL of the system's packages for tests: in a folder of its own, on a free port of loopback.
package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// install is the line that installs PostgreSQL where it is missing.
const install = "apt-get install -y --no-install-recommends postgresql"

// startTime bounds how long PostgreSQL may take to start on a loaded machine.
const startTime = time.Minute

// Server is a PostgreSQL that runs, or that Stop has stopped.
type Server struct {
	bin, dir string
	port     int
	as       *syscall.Credential // nil for who runs the test

	mu        sync.Mutex
	ended     chan struct{} // closed when the process has; nil while there is none
	process   *os.Process
	log       *bytes.Buffer
	databases int
}

// New makes a database cluster and starts it. Close removes it.
func New() (s *Server, err error) {
	s = &Server{}
	if s.bin, err = binaries(); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 { // PostgreSQL refuses to run as root
		if s.as, err = postgresUser(); err != nil {
			return nil, err
		}
	}
	if s.dir, err = os.MkdirTemp("", "weir-pg-"); err != nil {
		return nil, err
	}
	if s.as != nil {
		err = os.Chown(s.dir, int(s.as.Uid), int(s.as.Gid))
	}
	if err == nil {
		err = s.initdb()
	}
	if err == nil {
		s.port, err = freePort()
	}
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// binaries finds the folder of the newest PostgreSQL that is installed.
func binaries() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(real), nil
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errors.New("the tests need PostgreSQL, which is not installed: " + install)
	}
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	return filepath.Dir(found[0]), nil
}

func version(initdb string) int {
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb))))
	if err != nil {
		return 0
	}
	return n
}

func postgresUser() (*syscall.Credential, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root, and there is no user postgres: %s: %w", install, err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, name), args...)
	c.Dir = s.dir
	c.Env = []string{"LC_ALL=C", "PATH=" + s.bin + ":/usr/bin:/bin", "HOME=" + s.dir}
	c.SysProcAttr = diesWithParent(s.as)
	return c
}

func (s *Server) initdb() error {
	out, err := s.command("initdb", "-D", filepath.Join(s.dir, "data"), "-U", "weir", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync").CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

// Start starts PostgreSQL after Stop, on the same port, and returns when it takes connections.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return errors.New("PostgreSQL runs already")
	}
	s.log = &bytes.Buffer{}
	c := s.command("postgres", "-D", filepath.Join(s.dir, "data"), "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-k", s.dir,
		"-c", "max_connections=200", "-c", "shared_buffers=32MB", "-c", "fsync=off")
	c.Stdout, c.Stderr = s.log, s.log
	started, ended := make(chan error), make(chan struct{})
	go func() {
		// The kernel ends the child with the thread that started it, so this thread is kept as long.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.Start()
		started <- err
		if err == nil {
			_ = c.Wait()
		}
		close(ended)
	}()
	if err := <-started; err != nil {
		return err
	}
	s.process, s.ended = c.Process, ended
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.URL("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-ended:
			s.ended = nil
			return fmt.Errorf("PostgreSQL ended at once: %s", s.log.String())
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL did not start within %v: %w", startTime, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop ends PostgreSQL at once, with all connections, as if its machine had lost its power; what was acknowledged is kept.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == nil {
		return nil
	}
	err := s.process.Signal(syscall.SIGQUIT)
	<-s.ended
	s.ended = nil
	return err
}

// Close ends PostgreSQL and removes its folder.
func (s *Server) Close() error {
	return errors.Join(s.Stop(), os.RemoveAll(s.dir))
}

// URL is where a database of it is.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://weir@127.0.0.1:%d/%s?sslmode=disable", s.port, database)
}

// Database makes a new, empty database and gives its URL.
func (s *Server) Database(ctx context.Context) (string, error) {
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	s.databases++
	name := fmt.Sprintf("test%d", s.databases)
	s.mu.Unlock()
	_, err = conn.Exec(ctx, "CREATE DATABASE "+name)
	return s.URL(name), errors.Join(err, conn.Close(ctx))
}
