package network

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"weir/engine/memory"
)

// benchPair is a producer and a consumer over one connection.
type benchPair struct {
	memory [2]*memory.GlobalPool
	conns  [2]*ConnectionManager
	part   *ResultPartition
	gate   *testGate
}

func newBenchPair(t testing.TB, transport Transport, segment int) *benchPair {
	p := &benchPair{}
	partitions := NewPartitionManager()
	for i := range p.conns {
		p.memory[i] = memory.NewGlobalPool(64, segment)
		var err error
		if p.conns[i], err = NewConnectionManager(ConnectionOptions{Name: fmt.Sprint("tm ", i), Transport: transport, Provider: partitions, Vertices: []string{"source"}}); err != nil {
			t.Fatal(err)
		}
	}
	out, err := p.memory[0].CreateLocalPool(memory.PoolOptions{Owner: "out", Required: 2, Max: 10, Subpartitions: 1, MaxBuffersPerSubpartition: 10})
	if err != nil {
		t.Fatal(err)
	}
	p.part = NewResultPartition(PartitionID{Vertex: "source"}, 1, out, 0)
	partitions.Register(p.part)
	in, err := p.memory[1].CreateLocalPool(memory.PoolOptions{Owner: "in", Required: 8, Max: 8})
	if err != nil {
		t.Fatal(err)
	}
	g := &testGate{woken: make(chan struct{}, 1)}
	g.Gate = NewGate(1, in, func() { g.woken <- struct{}{} })
	c := NewRemoteChannel(RemoteChannelOptions{Gate: g.Gate, Global: p.memory[1], ExclusiveBuffers: 2, Partition: p.part.ID, Addr: p.conns[0].Addr(), Connections: p.conns[1]})
	if err := c.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.SetChannel(c)
	g.channels = []*RemoteChannel{c}
	if err := c.Request(); err != nil {
		t.Fatal(err)
	}
	p.gate = g
	return p
}

func (p *benchPair) close() {
	p.gate.Release()
	p.part.Release()
	p.conns[1].Close()
	p.conns[0].Close()
}

// run sends n full buffers and reads them all.
func (p *benchPair) run(t testing.TB, n, size int) {
	var wg sync.WaitGroup
	available := make(chan struct{}, 1)
	p.part.pool.SetOnAvailable(func() {
		select {
		case available <- struct{}{}:
		default:
		}
	})
	wg.Go(func() {
		for range n {
			seg := p.part.pool.Request(0)
			for ; seg == nil; seg = p.part.pool.Request(0) {
				<-available
			}
			seg.Finish(size)
			p.part.subs[0].addSegment(seg)
			seg.Release()
		}
		p.part.FlushAll()
	})
	for range n {
		b, _, err := p.gate.next()
		if err != nil {
			t.Fatal(err)
		}
		b.Recycle()
	}
	wg.Wait()
}

// BenchmarkFrames measures frames a second from a pool's buffer to the consumer's hands.
func BenchmarkFrames(b *testing.B) {
	for _, transport := range []string{"tcp", "memory"} {
		for _, size := range []int{256, 32 << 10} {
			b.Run(fmt.Sprintf("%s/%d", transport, size), func(b *testing.B) {
				tr, err := NewTransport(transport)
				if err != nil {
					b.Fatal(err)
				}
				p := newBenchPair(b, tr, 32<<10)
				p.run(b, 100, size)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				b.ResetTimer()
				p.run(b, b.N, size)
				b.StopTimer()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
				p.close()
			})
		}
	}
}

// TestNoAllocationPerBuffer: in steady state a buffer crosses a connection without allocating.
func TestNoAllocationPerBuffer(t *testing.T) {
	for _, transport := range []string{"tcp", "memory"} {
		tr, err := NewTransport(transport)
		if err != nil {
			t.Fatal(err)
		}
		p := newBenchPair(t, tr, 1024)
		p.run(t, 1000, 1000)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		const n = 20000
		p.run(t, n, 1000)
		runtime.ReadMemStats(&after)
		if got := float64(after.Mallocs-before.Mallocs) / n; got > 0.1 {
			t.Errorf("%s: %.2f allocations a buffer", transport, got)
		}
		p.close()
	}
}
