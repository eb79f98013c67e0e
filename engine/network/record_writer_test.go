package network

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/datadriven"

	"weir/engine/keygroup"
	"weir/engine/memory"
	"weir/engine/serde"
)

// TestWriterBehaviours runs the scripts of the record writer, one for each behaviour.
func TestWriterBehaviours(t *testing.T) {
	datadriven.Walk(t, "testdata/writer", func(t *testing.T, path string) {
		s := &writerScript{}
		datadriven.RunTest(t, path, s.run)
		s.checkNothingLost(t)
	})
}

// textSchema is that of records whose size is easy to choose: a record of n characters takes n + 6 bytes, from 127
// characters on n + 7.
var textSchema = serde.Schema{Key: serde.String}

const writerGroups = 128

// textRecord makes a record of this many bytes that is routed to a subpartition.
func textRecord(t testing.TB, size int, route []uint16, sub int) *serde.Record {
	t.Helper()
	n := size - 6
	if n >= 127 {
		n--
	}
	for c := 'a'; c <= 'z' && n > 0; c++ {
		r := &serde.Record{Key: serde.Key{Str: strings.Repeat("-", n-1) + string(c)}}
		if route == nil || int(route[keygroup.Assign(serde.HashKey(serde.String, r.Key), len(route))]) == sub {
			if got := len(serde.AppendRecord(nil, textSchema, r)); got != size {
				t.Fatalf("no record has %d bytes", size)
			}
			return r
		}
	}
	t.Fatalf("no record of %d bytes goes to subpartition %d", size, sub)
	return nil
}

// writerEnd is what a test reads of one subpartition, and what it has to find there.
type writerEnd struct {
	view     *View
	notices  countingListener
	decoder  serde.Deserializer
	expected bytes.Buffer   // what is written and not read yet
	records  []serde.Record // likewise
}

// take checks the bytes of a buffer, and gives the sizes of the records that end in it.
func (e *writerEnd) take(b []byte) (sizes []int, err error) {
	if want := e.expected.Next(len(b)); !bytes.Equal(b, want) {
		return nil, fmt.Errorf("read %q, written was %q", b, want)
	}
	e.decoder.SetBuffer(b)
	for {
		var r serde.Record
		kind, ok, err := e.decoder.Next(&r)
		if err != nil || !ok {
			return sizes, err
		}
		if kind != serde.KindRecord || len(e.records) == 0 || r != e.records[0] {
			return sizes, fmt.Errorf("read %v %v, expected %v", kind, r, e.records)
		}
		e.records = e.records[1:]
		sizes = append(sizes, len(serde.AppendRecord(nil, textSchema, &r)))
	}
}

// writerScript drives a record writer and reads its subpartitions. Every byte read is compared with what was written.
type writerScript struct {
	global   *memory.GlobalPool
	part     *ResultPartition
	writer   *RecordWriter
	route    []uint16
	ends     []*writerEnd
	held     []Buffer
	happened []string
}

func (s *writerScript) say(format string, args ...any) {
	s.happened = append(s.happened, fmt.Sprintf(format, args...))
}

func (s *writerScript) run(t *testing.T, d *datadriven.TestData) string {
	num := func(key string, otherwise int) int {
		d.MaybeScanArgs(t, key, &otherwise)
		return otherwise
	}
	var err error
	s.happened = nil
	switch d.Cmd {
	case "partition":
		s.checkNothingLost(t)
		s.create(t, num("subs", 1), num("segment", 128), memory.PoolOptions{Required: 1, Max: num("size", 8),
			MaxBuffersPerSubpartition: num("per-sub", 10), MaxOverdraft: num("overdraft", 0)}, num("start", 0), nil)
	case "write":
		for _, size := range d.CmdArgs[0].Vals {
			var n int
			if _, err := fmt.Sscan(size, &n); err != nil {
				d.Fatalf(t, "size %q: %v", size, err)
			}
			if err = s.write(t, n, num("sub", 0)); err != nil {
				break
			}
		}
	case "announce":
		s.ends[num("sub", 0)].view.SetBufferSize(num("n", 0))
	case "flush":
		s.writer.FlushAll()
	case "flush-always":
		s.writer.SetFlushAlways(!d.HasArg("off"))
	case "event":
		err = s.writer.BroadcastEvent(serde.EndOfSuperstepEvent{}, d.HasArg("priority"))
	case "finish":
		err = s.writer.Finish()
	case "close":
		s.writer.Close()
	case "release":
		s.ends[num("sub", 0)].view.Release()
	case "poll":
		err = s.poll(num("sub", 0))
	case "recycle":
		for range num("n", 1) {
			s.held[0].Recycle()
			s.held = s.held[1:]
		}
	default:
		d.Fatalf(t, "unknown command %q", d.Cmd)
	}
	if err != nil {
		s.say("error: %v", err)
	}
	return s.state()
}

func (s *writerScript) create(t testing.TB, subs, segmentBytes int, o memory.PoolOptions, start int, hard HardBackpressure) {
	s.global = memory.NewGlobalPool(64, segmentBytes)
	o.Subpartitions = subs
	pool, err := s.global.CreateLocalPool(o)
	if err != nil {
		t.Fatal(err)
	}
	s.route = nil
	if subs > 1 {
		s.route = make([]uint16, writerGroups)
		for g := range s.route {
			s.route[g] = uint16(g % subs)
		}
	}
	s.part = NewResultPartition(PartitionID{Vertex: "source"}, subs, pool, start)
	s.writer = NewRecordWriter(s.part, WriterOptions{Schema: textSchema, Route: s.route, Hard: hard})
	s.ends = nil
	for i := range subs {
		e := &writerEnd{decoder: serde.NewDeserializer(textSchema)}
		if e.view, err = s.part.subs[i].createView(&e.notices); err != nil {
			t.Fatal(err)
		}
		s.ends = append(s.ends, e)
	}
}

func (s *writerScript) write(t testing.TB, size, sub int) error {
	r := textRecord(t, size, s.route, sub)
	if err := s.writer.Collect(r); err != nil {
		return err
	}
	e := s.ends[sub]
	e.expected.Write(serde.AppendRecord(nil, textSchema, r))
	e.records = append(e.records, *r)
	return nil
}

func (s *writerScript) poll(sub int) error {
	e := s.ends[sub]
	p, ok, err := e.view.Next()
	if err != nil {
		return err
	}
	if !ok {
		s.say("nothing")
		return nil
	}
	if !p.IsData() {
		s.say("%s backlog=%d next=%s", p.Type, p.Backlog, p.Next)
		return nil
	}
	sizes, err := e.take(p.Bytes)
	s.say("%d bytes: records that end here %v, %d bytes of another; backlog=%d next=%s", len(p.Bytes), sizes, e.decoder.Unfinished(), p.Backlog, p.Next)
	s.held = append(s.held, p.Buffer)
	return err
}

func (s *writerScript) state() string {
	var b strings.Builder
	for _, line := range s.happened {
		fmt.Fprintln(&b, line)
	}
	c := s.writer.Counters()
	available := "available"
	if !s.writer.Available() {
		available = "unavailable"
	}
	fmt.Fprintf(&b, "writer records=%d bytes=%d buffers=%d full-bytes=%d %s\n", c.Records, c.Bytes, c.Buffers, c.FullBytes, available)
	for i, e := range s.ends {
		open := "none"
		if o := s.writer.open[i]; o.seg != nil {
			open = fmt.Sprintf("%d/%d", o.pos, o.limit)
		}
		fmt.Fprintf(&b, "sub%d queue=%v open=%s notices=%d\n", i, s.part.Stats(i).Fill, open, e.notices.data)
	}
	st := s.part.Pool().Stats()
	fmt.Fprintf(&b, "pool used=%d overdraft=%d\n", st.Used, st.Overdraft)
	return b.String()
}

func (s *writerScript) checkNothingLost(t testing.TB) {
	if s.part == nil {
		return
	}
	for i := range s.held {
		s.held[i].Recycle()
	}
	s.held = nil
	s.writer.Close()
	s.part.Release()
	if got, want := s.global.Available(), s.global.Total(); got != want {
		t.Errorf("%d of %d segments are back", got, want)
	}
}

// hardCounter counts how often a writer blocked.
type hardCounter struct{ started, ended int }

func (h *hardCounter) HardStart() { h.started++ }
func (h *hardCounter) HardEnd()   { h.ended++ }

// A record that needs more buffers than the pool and its overdraft have blocks inside the record until the pool is
// available again, and is whole afterwards.
func TestWriterBlocksInsideRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s writerScript
		var hard hardCounter
		s.create(t, 1, 128, memory.PoolOptions{Required: 1, Max: 2, MaxBuffersPerSubpartition: 10, MaxOverdraft: 3}, 0, &hard)
		done := make(chan error, 1)
		go func() { done <- s.write(t, 128*7, 0) }()
		synctest.Wait()
		if hard != (hardCounter{started: 1}) {
			t.Errorf("%+v, expected one blocking that goes on", hard)
		}
		if st := s.part.Pool().Stats(); st.Used != 5 || st.Overdraft != 3 {
			t.Errorf("pool %+v, expected 5 used, 3 of them overdraft", st)
		}
		// The bytes are compared below: what is written is known only once Collect is back.
		var read []byte
		for {
			p, ok, err := s.ends[0].view.Next()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				if synctest.Wait(); len(done) > 0 {
					if p, ok, _ = s.ends[0].view.Next(); !ok {
						break
					}
				} else if p, ok, _ = s.ends[0].view.Next(); !ok {
					t.Fatalf("the writer is stuck: %+v", s.part.Pool().Stats())
				}
			}
			read = append(read, p.Bytes...)
			p.Recycle()
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		sizes, err := s.ends[0].take(read)
		if err != nil || len(sizes) != 1 || sizes[0] != 128*7 {
			t.Errorf("read records %v: %v", sizes, err)
		}
		if hard.started != hard.ended {
			t.Errorf("%+v, expected as many ends", hard)
		}
		s.checkNothingLost(t)
	})
}

// A writer that is blocked inside a record ends when it is told to quit, or when its pool is destroyed.
func TestBlockedWriterEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, destroy := range []bool{false, true} {
			var s writerScript
			var hard hardCounter
			s.create(t, 1, 128, memory.PoolOptions{Required: 1, Max: 2, MaxBuffersPerSubpartition: 10}, 0, &hard)
			quit := make(chan struct{})
			s.writer = NewRecordWriter(s.part, WriterOptions{Schema: textSchema, Hard: &hard, Quit: quit})
			done := make(chan error)
			go func() { done <- s.write(t, 1000, 0) }()
			synctest.Wait()
			want := memory.ErrQuit
			if destroy {
				s.part.Pool().Destroy()
				want = memory.ErrDestroyed
			} else {
				close(quit)
			}
			if err := <-done; !errors.Is(err, want) {
				t.Errorf("error %v, expected %v", err, want)
			}
			if hard != (hardCounter{1, 1}) {
				t.Errorf("%+v, expected one blocking that ended", hard)
			}
			s.checkNothingLost(t)
		}
	})
}

// Overdraft when the pool shrinks under a writer: while 7 of what are now 5 buffers are out with an overdraft of 2, the
// pool is unavailable and gives no more.
func TestOverdraftInShrunkenPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s writerScript
		var hard hardCounter
		s.create(t, 1, 128, memory.PoolOptions{Required: 5, Max: 10, MaxBuffersPerSubpartition: 20, MaxOverdraft: 2}, 0, &hard)
		pool := s.part.Pool()
		if err := pool.SetSize(7); err != nil {
			t.Fatal(err)
		}
		for range 7 {
			if err := s.write(t, 128, 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := pool.SetSize(5); err != nil {
			t.Fatal(err)
		}
		if st := pool.Stats(); st.Requested != 7 || st.Overdraft != 2 || s.writer.Available() {
			t.Errorf("pool %+v, expected 7 requested, 2 of them overdraft, unavailable", st)
		}
		done := make(chan error, 1)
		go func() { done <- s.write(t, 256, 0) }()
		synctest.Wait()
		if hard.started != 1 || pool.Stats().Requested != 7 {
			t.Errorf("%+v, pool %+v, expected the writer to block", hard, pool.Stats())
		}
		for range 3 { // 4 of 5 are out then: available again
			p, _, err := s.ends[0].view.Next()
			if err != nil {
				t.Fatal(err)
			}
			p.Recycle()
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if st := pool.Stats(); st.Requested != 6 || st.Overdraft != 1 || s.writer.Available() {
			t.Errorf("pool %+v, expected 6 requested, 1 of them overdraft, unavailable", st)
		}
		s.checkNothingLost(t)
	})
}

// Records of random sizes, with sizes announced, flushes and events in between, come back byte for byte, whatever the
// segment's size.
func TestWriterRoundTrip(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, segmentBytes := range []int{7, 16, 64, 100, 1000, 32768} {
		t.Run(fmt.Sprintf("segments of %d", segmentBytes), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, uint64(segmentBytes)))
			const subs = 3
			var s writerScript
			s.create(t, subs, segmentBytes, memory.PoolOptions{Required: 1, Max: 32, MaxBuffersPerSubpartition: 64, MaxOverdraft: 32}, 0, nil)
			read := func() {
				for i := range subs {
					for {
						p, ok, err := s.ends[i].view.Next()
						if err != nil {
							t.Fatal(err)
						}
						if !ok {
							break
						}
						if p.IsData() {
							if _, err := s.ends[i].take(p.Bytes); err != nil {
								t.Fatal(err)
							}
						}
						p.Recycle()
					}
				}
			}
			for range 3000 {
				switch n := rnd.IntN(20); {
				case n == 0:
					s.writer.FlushAll()
				case n == 1:
					if err := s.writer.BroadcastEvent(serde.EndOfSuperstepEvent{}, false); err != nil {
						t.Fatal(err)
					}
				case n == 2:
					s.ends[rnd.IntN(subs)].view.SetBufferSize(1 + rnd.IntN(2*segmentBytes))
				case n < 6:
					read()
				default:
					if !s.writer.Available() {
						read()
					}
					// At most as much as fits in what the pool has and may overdraw.
					r := serde.Record{Key: serde.Key{Str: randomText(rnd, rnd.IntN(min(300, 16*segmentBytes)))}, HasTimestamp: rnd.IntN(2) == 0}
					if r.HasTimestamp {
						r.Timestamp = rnd.Int64()
					}
					if err := s.writer.Collect(&r); err != nil {
						t.Fatal(err)
					}
					e := s.ends[s.route[keygroup.Assign(serde.HashKey(serde.String, r.Key), writerGroups)]]
					e.expected.Write(serde.AppendRecord(nil, textSchema, &r))
					e.records = append(e.records, r)
				}
			}
			if err := s.writer.Finish(); err != nil {
				t.Fatal(err)
			}
			read()
			for i, e := range s.ends {
				if len(e.records) > 0 || e.expected.Len() > 0 || e.decoder.Unfinished() > 0 {
					t.Errorf("subpartition %d: %d records and %d bytes were not read", i, len(e.records), e.expected.Len())
				}
			}
			s.checkNothingLost(t)
		})
	}
}

// randomText has characters of one to four bytes.
func randomText(rnd *rand.Rand, n int) string {
	var b strings.Builder
	ascii := rnd.IntN(2) == 0
	for b.Len() < n {
		if ascii {
			b.WriteByte(byte(' ' + rnd.IntN(95)))
		} else {
			b.WriteRune([]rune{'a', 'é', '水', '𝄞'}[rnd.IntN(4)])
		}
	}
	return b.String()
}
