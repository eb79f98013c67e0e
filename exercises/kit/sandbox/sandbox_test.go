package sandbox

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/exercises/kit"
	"weir/exercises/kit/wire"
)

func TestMain(m *testing.M) {
	RunChild()
	// A folder of its own: the tests of other packages, which run at the same time, build cores too.
	dir, err := os.MkdirTemp("", "sandbox-test-")
	if err == nil {
		err = os.Setenv("TMPDIR", dir)
	}
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if left := leftBehind(); len(left) > 0 {
			println("left behind:", strings.Join(left, " "))
			code = 1
		}
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// leftBehind are the processes and folders that outlived the tests.
func leftBehind() []string {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), "weir-core-*"))
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		if b, err := os.ReadFile(list); err == nil && len(b) > 0 {
			left = append(left, "process "+string(b))
		}
	}
	return left
}

// anyKind is of a core of which it is enough that it harms nobody.
const anyKind Kind = "any"

var echo = &kit.Exercise{ID: "echo", Kind: kit.Code, Files: os.DirFS("testdata/echo")}

func source(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata/hostile", name, "core.go"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// do calls Do.
func do(c *Core, n int64) int64 {
	var w wire.Writer
	w.Int(n)
	r := wire.Reader{B: c.Call(1, w.B)}
	return r.Int()
}

func opened(t *testing.T, name string) *Core {
	t.Helper()
	wasm, err := Build(t.Context(), echo, source(t, name))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestCoreAnswersAndBeginsAnew(t *testing.T) {
	c := opened(t, "good")
	for n := range int64(1000) {
		if got := do(c, n); got != n+1 {
			t.Fatalf("Do(%d) = %d, %v", n, got, c.Err())
		}
	}
	if err := c.Reset(); err != nil || do(c, 41) != 42 {
		t.Errorf("after Reset: %v", err)
	}
	var w wire.Writer
	w.Int(9 << 20)
	var f *Failure
	if b := c.Call(2, w.B); b != nil || !errors.As(c.Err(), &f) || f.Kind != TooMuch {
		t.Errorf("an answer of 9 MiB: %d bytes, %v", len(b), c.Err())
	}
	if c.Call(1, w.B) != nil {
		t.Error("it answers after it failed")
	}
	if err := c.Reset(); err != nil || do(c, 1) != 2 {
		t.Errorf("after a failure: %v", err)
	}
	c.Close()
	if c.Reset() == nil || c.Call(1, nil) != nil {
		t.Error("a closed core goes on")
	}
}

// TestHostileCores has each end in its own way, and answer again after Reset with a call that does no harm.
func TestHostileCores(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := int64(listener.Addr().(*net.TCPAddr).Port)
	before := callCPU
	callCPU = time.Second
	t.Cleanup(func() {
		callCPU = before
		listener.Close()
		if conn, err := listener.Accept(); err == nil {
			conn.Close()
			t.Error("a core reached the network")
		}
		if _, err := os.Stat("/tmp/weir-was-here"); err == nil {
			t.Error("a core wrote a file")
		}
	})
	for _, c := range []struct {
		name string
		n    int64
		// kind is how it fails; empty if it answers want.
		kind Kind
		want int64
		says string
		line bool // of core.go
	}{
		{name: "loops", kind: TooSlow},
		{name: "loops-at-the-start", kind: TooSlow},
		{name: "allocates", kind: OutOfMemory},
		{name: "allocates-at-once", n: 1, kind: OutOfMemory},
		{name: "panics", n: 7, kind: Panicked, says: "index out of range [7]", line: true},
		{name: "panics-elsewhere", kind: Panicked, says: "in a goroutine", line: true},
		{name: "exits", kind: Exited, says: "status 0"},
		{name: "recurses", kind: OutOfMemory}, // of its stack
		{name: "waits", kind: Deadlocked},
		{name: "sleeps", n: 1, want: 2},
		{name: "prints-a-verdict", want: -1},
		{name: "prints-without-end", n: 1, want: 2},
		{name: "opens-a-file", kind: OpenedFile, says: "/etc/passwd"},
		{name: "writes-a-file", kind: OpenedFile, says: "weir-was-here"},
		{name: "lists-a-folder", want: 0},
		{name: "opens-a-socket", n: port, want: 0},
		{name: "runs-a-program", kind: OpenedFile, says: "/dev/null"},
		{name: "reads-the-environment", want: 0},
		{name: "reads-input", want: 0},
		{name: "wants-a-host-function", kind: Stopped},
		{name: "writes-anywhere", kind: anyKind},
		{name: "links-by-name", kind: anyKind},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			core := opened(t, c.name)
			got := do(core, c.n)
			err := core.Err()
			var f *Failure
			switch {
			case c.kind == "" && (err != nil || got != c.want):
				t.Errorf("Do(%d) = %d, %v, want %d", c.n, got, err, c.want)
			case c.kind == "" || c.kind == anyKind: // it has hurt nobody
			case !errors.As(err, &f) || f.Kind != c.kind:
				t.Errorf("ended with %#v, want %s", err, c.kind)
			case !strings.Contains(f.Text().En, c.says) || f.Text().Zh == "" || f.Advice().En == "" || f.Advice().Zh == "":
				t.Errorf("it says %q, want %q", f.Text().En, c.says)
			case c.line && !strings.HasPrefix(f.Line, "core.go:"):
				t.Errorf("the line is %q", f.Line)
			}
			if got, most := len(core.Printed()), mostPrinted; got > most {
				t.Errorf("%d bytes of what it printed are kept", got)
			}
		})
	}
}

func TestWhatACorePrintsIsANote(t *testing.T) {
	c := opened(t, "prints-a-verdict")
	if got := do(c, 1); got != -1 || c.Err() != nil || !strings.Contains(c.Printed(), `"status":"passed"`) {
		t.Errorf("Do = %d, %v, printed %q", got, c.Err(), c.Printed())
	}
}

// TestSameSeedSameCore has neither the machine's clock nor its randomness.
func TestSameSeedSameCore(t *testing.T) {
	dice := opened(t, "rolls-dice")
	var rolls []int64
	for _, seed := range []uint64{1, 1, 2} {
		dice.Seed(seed)
		if err := dice.Reset(); err != nil {
			t.Fatal(err)
		}
		rolls = append(rolls, do(dice, 0))
	}
	if rolls[0] != rolls[1] || rolls[0] == rolls[2] {
		t.Errorf("rolls %v", rolls)
	}
	if now := do(opened(t, "looks-at-the-clock"), 0); now == 0 || now > time.Now().Unix()-86400 {
		t.Errorf("it is %d", now)
	}
}

func TestRefusedCores(t *testing.T) {
	for _, c := range []struct{ name, says string }{
		{"imports-ours", "core.go:5 imports weir/engine/task"},
		{"imports-a-module", "core.go:5 imports github.com/spf13/cobra"},
		{"imports-c", `imports "C"`},
		{"another-package", "package main"},
		{"left-out", "build constraints"},
		{"does-not-compile", "core.go:14:"},
		{"embeds-a-file", "core.go:13:"},
		{"embeds-from-above", "core.go:13:"},
		{"embeds-its-module", "core.go:13:"},
		{"exports-our-function", "does not compile"},
		{"is-a-bomb", "more memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Build(t.Context(), echo, source(t, c.name))
			var refused *BuildError
			if !errors.As(err, &refused) || refused.NoGo || !strings.Contains(refused.Text.En, c.says) || refused.Text.Zh == "" {
				t.Fatalf("%v, want %q", err, c.says)
			}
			if strings.Contains(err.Error(), os.TempDir()) || strings.Count(err.Error(), "\n") > mostErrors+1 {
				t.Errorf("it says %s", err)
			}
		})
	}
}

func TestCompilerIsBounded(t *testing.T) {
	defer func(d time.Duration) { buildTime = d }(buildTime)
	buildTime = time.Millisecond
	core := append(source(t, "good"), []byte("// "+time.Now().String()+"\n")...)
	_, err := Build(t.Context(), echo, core)
	var refused *BuildError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "did not finish") {
		t.Errorf("%v", err)
	}
	_, err = Build(t.Context(), echo, make([]byte, 300<<10))
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("a large file: %v", err)
	}
}

func TestWithoutGo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Build(t.Context(), echo, source(t, "good"))
	var refused *BuildError
	if !errors.As(err, &refused) || !refused.NoGo || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "go.dev/dl") {
		t.Errorf("%v", err)
	}
	for version, ok := range map[string]bool{"go1.24": true, "go1.26.8": true, "go2.0": true, "devel go1.27-abc": true, "go1.23.9": false, "go1.9": false, "": false, "gccgo": false} {
		if enough(version) != ok {
			t.Errorf("%q is enough: %v", version, !ok)
		}
	}
}

// TestChildGoesWithItsParent closes the pipe as the end of the parent would, while the core loops.
func TestChildGoesWithItsParent(t *testing.T) {
	c := opened(t, "loops")
	in := c.process.in
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		do(c, 1)
	}()
	_ = in.Close()
	<-returned
	var f *Failure
	if !errors.As(c.Err(), &f) || f.Kind != Stopped && f.Kind != TooSlow {
		t.Errorf("%v", c.Err())
	}
}
