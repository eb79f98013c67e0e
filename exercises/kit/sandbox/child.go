package sandbox

import (
	"bufio"
	"context"
	"embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

// childVerb is the first argument of the process that runs a core; it follows the program's name.
const childVerb = "sandbox-child"

// RunChild makes this process the child of a sandbox if it was started as one, and then does not return. A main or
// TestMain whose process opens cores calls it first.
func RunChild() {
	if len(os.Args) != 4 || os.Args[1] != childVerb {
		return
	}
	fmt.Fprintln(os.Stderr, serve(os.Stdin, os.Stdout, os.Args[2], os.Args[3]))
	os.Exit(1)
}

const (
	memoryPages  = 1024 // of 64 KiB: 64 MiB
	mostPrinted  = 16 << 10
	callsPerTidy = 1 << 12
)

// child has the core's module and its one instance.
type child struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule

	instance   api.Module
	room, call api.Function
	printed    *head
	files      *noFiles
}

// serve answers frames until the parent goes, which ends the process. It returns only with what went wrong.
func serve(in io.Reader, out io.Writer, wasmFile, cacheDir string) error {
	limitSelf()
	// A collection has to stop every thread, and one that runs a core's loop cannot be stopped: nothing may start one while
	// a core is called, or the end of the parent would go unseen.
	debug.SetGCPercent(-1)
	type request struct {
		op      byte
		payload []byte
	}
	requests := make(chan request)
	go func() {
		r := bufio.NewReader(in)
		for {
			op, payload, err := readFrame(r)
			if err != nil {
				os.Exit(0) // the parent is gone, whatever the core is doing
			}
			requests <- request{op, payload}
		}
	}()
	ctx := context.Background()
	c, err := newChild(ctx, wasmFile, cacheDir)
	if err != nil {
		return err
	}
	for calls := 0; ; calls++ {
		q := <-requests
		answer, failure := c.do(ctx, q.op, q.payload)
		code := byte(answerOK)
		if failure != nil {
			code = answerFailed
			if answer, err = json.Marshal(failure); err != nil {
				return err
			}
		}
		if calls%callsPerTidy == callsPerTidy-1 || q.op == opStart {
			runtime.GC()
		}
		if err := writeFrame(out, code, answer); err != nil {
			return err
		}
	}
}

func newChild(ctx context.Context, wasmFile, cacheDir string) (*child, error) {
	wasm, err := os.ReadFile(wasmFile)
	if err != nil {
		return nil, err
	}
	config := wazero.NewRuntimeConfig().WithMemoryLimitPages(memoryPages)
	if cacheDir != "" {
		// Without a cache the module is compiled each time, which is slower and as good.
		if cache, err := wazero.NewCompilationCacheWithDir(cacheDir); err == nil {
			config = config.WithCompilationCache(cache)
		}
	}
	c := &child{runtime: wazero.NewRuntimeWithConfig(ctx, config)}
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, c.runtime); err != nil {
		return nil, err
	}
	c.compiled, err = c.runtime.CompileModule(ctx, wasm)
	return c, err
}

func (c *child) do(ctx context.Context, op byte, payload []byte) ([]byte, *Failure) {
	switch op {
	case opStart:
		return nil, c.start(ctx, payload)
	case opCall:
		return c.invoke(ctx, payload)
	case opOutput:
		if c.printed == nil {
			return nil, nil
		}
		return c.printed.Bytes(), nil
	case opReady:
		return nil, nil
	}
	return nil, &Failure{Kind: Stopped, Detail: fmt.Sprintf("unknown request %d", op)}
}

// start makes a fresh instance. Its randomness comes from the seed and its clock is not the machine's, so that the same
// calls have the same answers.
func (c *child) start(ctx context.Context, payload []byte) *Failure {
	if c.instance != nil {
		_ = c.instance.Close(ctx)
		c.instance = nil
	}
	var seed [32]byte
	copy(seed[:], payload)
	c.printed, c.files = &head{most: mostPrinted}, &noFiles{}
	clock := &ownClock{ns: 1e18}
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize").
		WithStdout(c.printed).WithStderr(c.printed).WithRandSource(rand.NewChaCha8(seed)).
		WithNanosleep(clock.sleep).WithNanotime(clock.now, 1).WithWalltime(clock.date, 1).
		WithFSConfig(wazero.NewFSConfig().WithFSMount(c.files, "/"))
	instance, err := c.runtime.InstantiateModule(ctx, c.compiled, config)
	if err != nil {
		return c.failure(err)
	}
	c.instance = instance
	c.room, c.call = instance.ExportedFunction("weir_room"), instance.ExportedFunction("weir_call")
	if c.room == nil || c.call == nil {
		return &Failure{Kind: Stopped, Detail: "the module does not export weir_room and weir_call"}
	}
	return nil
}

func (c *child) invoke(ctx context.Context, payload []byte) ([]byte, *Failure) {
	if c.instance == nil || len(payload) < 4 {
		return nil, &Failure{Kind: Stopped, Detail: "it is not running"}
	}
	method, args := binary.LittleEndian.Uint32(payload), payload[4:]
	at, err := c.room.Call(ctx, uint64(len(args)))
	if err != nil {
		return nil, c.failure(err)
	}
	if len(args) > 0 && !c.instance.Memory().Write(uint32(at[0]), args) {
		return nil, &Failure{Kind: Stopped, Detail: "there is no room for the arguments"}
	}
	result, err := c.call.Call(ctx, uint64(method))
	if err != nil {
		return nil, c.failure(err)
	}
	if c.files.opened != "" {
		return nil, &Failure{Kind: OpenedFile, Detail: c.files.opened}
	}
	size := uint32(result[0])
	if size > mostFrame {
		return nil, &Failure{Kind: TooMuch}
	}
	if size == 0 {
		return nil, nil
	}
	answer, ok := c.instance.Memory().Read(uint32(result[0]>>32), size)
	if !ok {
		return nil, &Failure{Kind: Stopped, Detail: "its answer is not in its memory"}
	}
	return answer, nil
}

// failure says how the instance ended; it is closed.
func (c *child) failure(err error) *Failure {
	if c.files.opened != "" {
		return &Failure{Kind: OpenedFile, Detail: c.files.opened}
	}
	if c.instance != nil {
		_ = c.instance.Close(context.Background())
		c.instance = nil
	}
	var exit *sys.ExitError
	exited := errors.As(err, &exit)
	code := 0
	if exited {
		code = int(exit.ExitCode())
	}
	return failureOf(err, code, exited, c.printed.String())
}

// ownClock is the time of an instance. A sleep takes none of ours.
type ownClock struct{ ns int64 }

func (c *ownClock) sleep(ns int64) { c.ns += max(0, ns) }

// now goes on a little at each look, so that nothing waits for it for ever.
func (c *ownClock) now() int64 {
	c.ns += 1000
	return c.ns
}

func (c *ownClock) date() (sec int64, nsec int32) {
	now := c.now()
	return now / 1e9, int32(now % 1e9)
}

// noFiles is a file system with nothing in it that notes the first name asked for.
type noFiles struct {
	root   embed.FS // has nothing
	opened string
}

func (n *noFiles) Open(name string) (fs.File, error) {
	// The time package looks for the machine's zone when a time is printed.
	if name != "." && n.opened == "" && !strings.Contains(name, "localtime") && !strings.Contains(name, "zoneinfo") {
		n.opened = shortened("/"+name, 100)
	}
	return n.root.Open(name)
}
