package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// callCPU is the processor time that one call may take.
var callCPU = 3 * time.Second

const (
	callWall  = 30 * time.Second // at which a call that got no time of the machine is given up
	startWall = 60 * time.Second // in which a module must be compiled to machine code
	tick      = 250 * time.Millisecond
)

// Core runs a learner's core in a child process: kit.Core. Its methods may be called from any goroutine; one call is made
// at a time.
type Core struct {
	ctx  context.Context
	wasm string
	dir  string // of compiled machine code

	mu      sync.Mutex
	seed    uint64
	err     error
	closed  bool
	process *process // nil after it was killed
	fresh   bool     // an instance that has not been called yet
	printed string   // by instances whose process is gone
}

// process is one child.
type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan answer
	errors  *head
}

type answer struct {
	code    byte
	payload []byte
	err     error
}

// Open starts the child for a module that Build made. ctx ends it too. The caller closes it.
func Open(ctx context.Context, wasm string) (*Core, error) {
	dir, err := machineCodeDir()
	if err != nil {
		dir = ""
	}
	c := &Core{ctx: ctx, wasm: wasm, dir: dir}
	if err := c.Reset(); err != nil {
		var f *Failure
		if !errors.As(err, &f) {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// Seed sets what the randomness of the next instances comes from.
func (c *Core) Seed(seed uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if seed != c.seed {
		c.seed, c.fresh = seed, false
	}
}

// Err is how the core came to its end: a *Failure, or what is wrong with the sandbox.
func (c *Core) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Printed is what this instance has printed, as far as it is kept.
func (c *Core) Printed() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return c.printed
	}
	b, err := c.ask(opOutput, callCPU)
	if err != nil {
		return ""
	}
	return string(b)
}

// Reset begins anew with a fresh instance.
func (c *Core) Reset() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return errors.New("the core is closed")
	case c.fresh && c.err == nil:
		return nil
	}
	c.err, c.printed = nil, ""
	if c.process == nil {
		if c.err = c.launch(); c.err != nil {
			return c.err
		}
	}
	_, err := c.ask(opStart, callCPU, binary.LittleEndian.AppendUint64(nil, c.seed))
	c.fresh = err == nil
	c.err = err
	return err
}

// Call has the core do one thing; see kit.Core.
func (c *Core) Call(method uint32, args []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || c.closed {
		return nil
	}
	c.fresh = false
	b, err := c.ask(opCall, callCPU, binary.LittleEndian.AppendUint32(nil, method), args)
	if err != nil {
		c.err = err
		return nil
	}
	return b
}

// Close ends the child and waits for its end.
func (c *Core) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.kill()
}

// launch starts a child.
func (c *Core) launch() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("starting the sandbox: %w", err)
	}
	cmd := exec.Command(self, childVerb, c.wasm, c.dir)
	cmd.Env = []string{} // not even the name of the user
	p := &process{cmd: cmd, answers: make(chan answer), errors: &head{most: 4 << 10}}
	cmd.Stderr = p.errors
	if p.in, err = cmd.StdinPipe(); err != nil {
		return fmt.Errorf("starting the sandbox: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("starting the sandbox: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the sandbox: %w", err)
	}
	go func() {
		defer close(p.answers)
		r := bufio.NewReader(out)
		for {
			code, payload, err := readFrame(r)
			p.answers <- answer{code, payload, err}
			if err != nil {
				return
			}
		}
	}()
	c.process = p
	_, err = c.ask(opReady, startWall)
	return err
}

// kill ends the child at once and waits for it.
func (c *Core) kill() {
	p := c.process
	if p == nil {
		return
	}
	c.process, c.fresh = nil, false
	_ = p.cmd.Process.Kill()
	for range p.answers { // the reader ends with the pipe
	}
	_ = p.in.Close()
	_ = p.cmd.Wait()
}

// ask sends a request and waits for the answer. Whatever is wrong with the child ends it.
func (c *Core) ask(op byte, limit time.Duration, parts ...[]byte) ([]byte, error) {
	p := c.process
	if p == nil {
		return nil, &Failure{Kind: Stopped, Detail: "it is not running"}
	}
	if err := writeFrame(p.in, op, parts...); err != nil {
		return nil, c.broken(err)
	}
	clock := time.NewTicker(tick)
	defer clock.Stop()
	begin, before := time.Now(), time.Duration(-1)
	for first := true; ; first = false {
		select {
		case a := <-p.answers:
			return c.take(a)
		case <-c.ctx.Done():
			c.kill()
			return nil, c.ctx.Err()
		case <-clock.C:
		}
		used, wall := cpuTime(p.cmd.Process.Pid), time.Since(begin)
		switch {
		case first:
			before = used // nearly every call is over by now, and did not pay for this
			continue
		case before < 0 || used < 0:
			used = wall // the machine does not tell
		default:
			used -= before
		}
		switch {
		case used >= limit:
			c.kill()
			return nil, &Failure{Kind: TooSlow}
		case wall >= startWall || wall >= callWall && op != opReady:
			c.kill()
			return nil, &Failure{Kind: Stalled}
		}
	}
}

// take reads an answer.
func (c *Core) take(a answer) ([]byte, error) {
	switch {
	case a.err != nil:
		return nil, c.broken(a.err)
	case a.code == answerOK:
		return a.payload, nil
	}
	f := new(Failure)
	if err := json.Unmarshal(a.payload, f); err != nil {
		return nil, c.broken(err)
	}
	return nil, f
}

// broken says why a child is gone, which is more the sandbox's fault than the core's.
func (c *Core) broken(err error) error {
	p := c.process
	c.kill()
	if said := string(bytes.TrimSpace(p.errors.Bytes())); said != "" {
		return &Failure{Kind: Stopped, Detail: shortened(strings.SplitN(said, "\n", 2)[0], 300)}
	}
	return &Failure{Kind: Stopped, Detail: "its process ended: " + err.Error()}
}
