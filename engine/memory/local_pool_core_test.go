package memory_test

import (
	"strings"
	"testing"

	"weir/engine/memory"
)

// fixedCore answers whatever it was told to.
type fixedCore struct {
	state   memory.CoreState
	granted bool
}

func (*fixedCore) Start(memory.CoreOptions, int) {}
func (c *fixedCore) Request(int, int) bool       { return c.granted }
func (*fixedCore) Recycle(int)                   {}
func (*fixedCore) SetSize(int, int)              {}
func (*fixedCore) SetMaxOverdraft(int)           {}
func (*fixedCore) GlobalAvailable(int)           {}
func (c *fixedCore) State() memory.CoreState     { return c.state }

// TestCoreThatCannotBe: a pool whose core decides what cannot be done says so to the next who asks, and gives all segments
// back in the end.
func TestCoreThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		name string
		core fixedCore
		want string
	}{
		{"takes more than there are", fixedCore{state: memory.CoreState{Requested: 100, Ready: 100}}, "took 100 segments"},
		{"says more is ready than is", fixedCore{state: memory.CoreState{Requested: 2, Ready: 1}}, "2 segments, 1 of them ready"},
		{"grants what it does not count", fixedCore{granted: true}, "does not count"},
		{"gives back what is out", fixedCore{granted: true, state: memory.CoreState{Requested: -1}}, "cannot be so"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := memory.NewGlobalPool(8, 64)
			p, err := g.CreateLocalPool(memory.PoolOptions{Owner: "source", Required: 4, Max: 4, Subpartitions: 1, MaxBuffersPerSubpartition: 4})
			if err != nil {
				t.Fatal(err)
			}
			p.UseCore(&c.core)
			s, err := p.TryRequest(0)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it gave %v, %v; want an error with %q", s, err, c.want)
			}
			if !p.Available() {
				t.Error("nobody who waits for the pool would hear of it")
			}
			p.Destroy()
			if g.Available() != 8 {
				t.Errorf("%d of 8 segments came back", g.Available())
			}
		})
	}
}

// TestCoreIsFollowed: the pool takes and gives back what its core's numbers say.
func TestCoreIsFollowed(t *testing.T) {
	g := memory.NewGlobalPool(8, 64)
	p, err := g.CreateLocalPool(memory.PoolOptions{Owner: "source", Required: 4, Max: 4, Subpartitions: 1, MaxBuffersPerSubpartition: 4})
	if err != nil {
		t.Fatal(err)
	}
	core := &fixedCore{state: memory.CoreState{Available: true, Requested: 3, Ready: 3}}
	p.UseCore(core)
	if g.Available() != 5 || !p.Available() {
		t.Errorf("%d free, available %v; want 5, true", g.Available(), p.Available())
	}
	core.granted, core.state = true, memory.CoreState{Requested: 3, Ready: 2}
	s, err := p.TryRequest(0)
	if s == nil || err != nil || p.Available() {
		t.Fatalf("%v, %v, available %v; want a segment of a pool that is not available", s, err, p.Available())
	}
	core.state = memory.CoreState{Available: true, Requested: 1, Ready: 1}
	s.Release()
	if g.Available() != 7 || !p.Available() || p.CoreError() != nil {
		t.Errorf("%d free, available %v, %v; want 7, true, nil", g.Available(), p.Available(), p.CoreError())
	}
	p.Destroy()
	if g.Available() != 8 {
		t.Errorf("%d of 8 segments came back", g.Available())
	}
}
