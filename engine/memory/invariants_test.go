//go:build invariants

package memory

import (
	"bytes"
	"strings"
	"testing"
)

func mustPanic(t *testing.T, with string, f func()) {
	t.Helper()
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(string), with) {
			t.Errorf("panic %v, expected one that says %q", r, with)
		}
	}()
	f()
}

func TestDoubleReleasePanics(t *testing.T) {
	g := NewGlobalPool(4, 128)
	p := mustPool(t, g, PoolOptions{Required: 2, Max: 2})
	first := p.Request(-1)
	second := p.Request(-1)
	second.Release()
	mustPanic(t, "segment 1 was released twice", second.Release)
	first.Release()
	mustPanic(t, "segment 0 was released twice", func() { p.Recycle(first) })
}

func TestRecycledMemoryIsPoisoned(t *testing.T) {
	g := NewGlobalPool(4, 128)
	p := mustPool(t, g, PoolOptions{Required: 1, Max: 1})
	s := p.Request(-1)
	view := s.Room()
	copy(view, "a record")
	s.Release()
	if !bytes.Equal(view, bytes.Repeat([]byte{0xDB}, len(view))) {
		t.Errorf("%x", view)
	}
	u, err := g.RequestUnpooled(1)
	if err != nil {
		t.Fatal(err)
	}
	view = u[0].Bytes()
	g.RecycleUnpooled(u)
	if view[0] != 0xDB || view[127] != 0xDB {
		t.Errorf("%x", view)
	}
}
