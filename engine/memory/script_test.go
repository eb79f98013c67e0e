package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestBehaviours runs the scripts in testdata, one for each behaviour.
func TestBehaviours(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &script{out: map[string][]*Segment{}}
		datadriven.RunTest(t, path, s.run)
	})
}

// script drives a global pool and its local pools. After each command it writes what happened and one line of state
// for each pool, each watched availability, and the global pool.
type script struct {
	global   *GlobalPool
	pools    []*LocalPool
	out      map[string][]*Segment // by pool; "" for unpooled ones
	watches  []watch
	happened []string
}

type watch struct {
	name string
	done <-chan struct{}
}

func (s *script) say(format string, args ...any) {
	s.happened = append(s.happened, fmt.Sprintf(format, args...))
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	num := func(key string, otherwise int) int {
		d.MaybeScanArgs(t, key, &otherwise)
		return otherwise
	}
	name := func(i int) string {
		if i >= len(d.CmdArgs) || len(d.CmdArgs[i].Vals) > 0 {
			return ""
		}
		return d.CmdArgs[i].Key
	}
	pool := func() *LocalPool {
		for _, p := range s.pools {
			if p.Owner() == name(0) {
				return p
			}
		}
		d.Fatalf(t, "no pool %q", name(0))
		return nil
	}
	s.happened = nil
	switch d.Cmd {
	case "global":
		s.global = NewGlobalPool(num("segments", 0), num("bytes", 128))
	case "pool":
		s.createPool(name(0), PoolOptions{Owner: name(0), Required: num("required", 0), Max: num("max", 0),
			Subpartitions: num("subpartitions", 0), MaxBuffersPerSubpartition: num("per-subpartition", 0),
			MaxOverdraft: num("overdraft", 0)})
	case "request":
		s.request(pool(), num("sub", -1), num("n", 1))
	case "recycle":
		s.recycle(pool(), num("n", 1), num("sub", -2))
	case "resize":
		s.fail(pool().SetSize(num("n", 0)))
	case "overdraft":
		pool().SetMaxOverdraft(num("n", 0))
	case "per-subpartition":
		pool().SetMaxBuffersPerSubpartition(num("n", 0))
	case "reserve":
		s.fail(pool().Reserve(context.Background(), num("n", 0), time.Nanosecond))
	case "destroy":
		pool().Destroy()
	case "destroy-pools":
		s.global.DestroyAllPools()
	case "destroy-global":
		s.global.Destroy()
	case "listen":
		l := &scriptListener{s, name(1), d.HasArg("keeps"), d.HasArg("refuses")}
		if pool().AddListener(l) {
			s.say("%s waits", l.name)
		} else {
			s.say("%s is refused", l.name)
		}
	case "watch":
		w := watch{name: name(1), done: s.global.WhenAvailable()}
		if name(0) != "global" {
			w.done = pool().WhenAvailable()
		}
		s.watches = append(s.watches, w)
	case "unpooled":
		segments, err := s.global.RequestUnpooled(num("n", 0))
		s.out[""] = append(s.out[""], segments...)
		s.fail(err)
	case "return-unpooled":
		n := num("n", 0)
		s.global.RecycleUnpooled(s.out[""][:n])
		s.out[""] = s.out[""][n:]
	case "memory":
		total, available, used := s.global.Memory()
		s.say("bytes total=%d free=%d used=%d carved=%d", total, available, used, s.global.CarvedBytes())
	case "usage":
		s.say("estimate=%d usage=%d%%", s.global.EstimatedRequested(), s.global.RequestedUsagePercent())
		if w := s.global.UsageWarning(); w != "" {
			s.say("%s", w)
		}
	default:
		d.Fatalf(t, "unknown command %q", d.Cmd)
	}
	return s.state()
}

func (s *script) fail(err error) {
	if err != nil {
		s.say("error: %v", err)
	}
}

func (s *script) createPool(name string, o PoolOptions) {
	p, err := s.global.CreateLocalPool(o)
	if err != nil {
		s.fail(err)
		return
	}
	p.SetOnAvailable(func() { s.say("%s turned available", name) })
	p.SetOnLimit(func(sub int) { s.say("%s subpartition %d reached its limit", name, sub) })
	s.pools = append(s.pools, p)
}

func (s *script) request(p *LocalPool, sub, n int) {
	for got := range n {
		segment, err := p.TryRequest(sub)
		if segment == nil {
			s.say("got %d of %d", got, n)
			s.fail(err)
			return
		}
		s.out[p.Owner()] = append(s.out[p.Owner()], segment)
	}
}

// recycle returns the oldest segments out, with sub -2 of any subpartition.
func (s *script) recycle(p *LocalPool, n, sub int) {
	for range n {
		i := slices.IndexFunc(s.out[p.Owner()], func(x *Segment) bool { return sub == -2 || x.Subpartition() == sub })
		if i < 0 {
			s.say("nothing is out")
			return
		}
		segment := s.out[p.Owner()][i]
		s.out[p.Owner()] = slices.Delete(s.out[p.Owner()], i, i+1)
		segment.Release()
	}
}

func (s *script) state() string {
	var b strings.Builder
	for _, line := range s.happened {
		fmt.Fprintln(&b, line)
	}
	for _, p := range s.pools {
		st := p.Stats()
		fmt.Fprintf(&b, "%s size=%d requested=%d ready=%d used=%d overdraft=%d", p.Owner(),
			st.Size, st.Requested, st.Ready, st.Used, st.Overdraft)
		if held := p.AppendSubpartitions(nil); len(held) > 0 {
			fmt.Fprintf(&b, " held=%v", held)
		}
		if st.AtLimit > 0 {
			fmt.Fprintf(&b, " at-limit=%d", st.AtLimit)
		}
		if st.Listeners > 0 {
			fmt.Fprintf(&b, " listeners=%d", st.Listeners)
		}
		switch {
		case st.Destroyed:
			fmt.Fprintln(&b, " destroyed")
		case st.Available:
			fmt.Fprintln(&b, " available")
		default:
			fmt.Fprintln(&b, " unavailable")
		}
	}
	for _, w := range s.watches {
		select {
		case <-w.done:
			fmt.Fprintf(&b, "%s complete\n", w.name)
		default:
			fmt.Fprintf(&b, "%s waiting\n", w.name)
		}
	}
	g := s.global
	fmt.Fprintf(&b, "global total=%d free=%d used=%d required=%d pools=%d\n",
		g.Total(), g.Available(), g.Used(), g.Required(), g.Pools())
	return b.String()
}

type scriptListener struct {
	s              *script
	name           string
	keeps, refuses bool
}

func (l *scriptListener) BufferAvailable(s *Segment) bool {
	switch {
	case l.refuses:
		l.s.say("%s refuses a segment", l.name)
		return false
	case l.keeps:
		l.s.say("%s keeps a segment", l.name)
	default:
		l.s.say("%s passes a segment on", l.name)
		s.Release()
	}
	return true
}

func (l *scriptListener) BufferDestroyed() { l.s.say("%s hears that the pool is destroyed", l.name) }
