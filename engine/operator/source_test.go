package operator

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/input"
	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/task"
)

// contextOf is that of a subtask of a job with the given settings.
func contextOf(t testing.TB, s *task.Settings, p, index int) *task.Context {
	t.Helper()
	r, err := keygroup.RangeFor(128, p, index)
	if err != nil {
		t.Fatal(err)
	}
	return &task.Context{Vertex: "v", Index: index, Parallelism: p, MaxParallelism: 128, KeyGroups: r, Settings: s}
}

// unlimited are settings without a rate.
func unlimited() *task.Settings {
	s := task.Defaults()
	s.Rate = 0
	return &s
}

// deal gives the splits of all subtasks to p new ones in turn.
func deal(states []*checkpoint.OperatorState, p int) []*checkpoint.OperatorState {
	out := make([]*checkpoint.OperatorState, p)
	for i := range out {
		out[i] = &checkpoint.OperatorState{}
	}
	n := 0
	for _, s := range states {
		for _, split := range s.Splits {
			out[n%p].Splits = append(out[n%p].Splits, split)
			n++
		}
	}
	return out
}

// emitAll runs a source at changing parallelism, stopping it at random points and restoring it from its snapshot, and
// passes every record of what was not rolled back to got.
func emitAll(t *testing.T, rnd *rand.Rand, s *task.Settings, stopAfter int, newSource func() task.Source, got func(*serde.Record)) {
	var states []*checkpoint.OperatorState
	for {
		p := 1 + rnd.IntN(5)
		sources, ended := []task.Source{}, 0
		var dealt []*checkpoint.OperatorState
		if states != nil {
			dealt = deal(states, p)
		}
		for i := range p {
			src := newSource()
			if dealt != nil {
				if err := src.Restore(dealt[i]); err != nil {
					t.Fatal(err)
				}
			}
			if err := src.Open(contextOf(t, s, p, i)); err != nil {
				t.Fatal(err)
			}
			sources = append(sources, src)
		}
		done := make([]bool, p)
		for left := rnd.IntN(stopAfter); left > 0 && ended < p; {
			i := rnd.IntN(p)
			for n := rnd.IntN(200); n > 0 && !done[i]; n-- {
				var r serde.Record
				switch status, _ := sources[i].Next(&r); status {
				case task.Ready:
					got(&r)
					left--
				case task.End:
					if err := sources[i].Err(); err != nil {
						t.Fatal(err)
					}
					done[i] = true
					ended++
				}
			}
		}
		states = nil
		for _, src := range sources {
			states = append(states, src.Snapshot())
			if err := src.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if ended == p {
			return
		}
	}
}

func seeded(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

func TestFlightsAtAnyParallelism(t *testing.T) {
	file, err := input.Open("../../testdata/flights.csv.gz")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{}
	r, err := file.NewReader("dest")
	if err != nil {
		t.Fatal(err)
	}
	for {
		k, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		want[string(k)]++
	}
	r.Close()
	got := map[string]int64{}
	emitAll(t, seeded(t), unlimited(), 300000, func() task.Source { return NewFileSource(file, "dest", serde.String) },
		func(r *serde.Record) { got[strings.Clone(r.Key.Str)]++ })
	if len(got) != 105 || !maps.Equal(got, want) {
		t.Errorf("%d destinations, counts equal %v", len(got), maps.Equal(got, want))
	}
}

func TestFileSplitsAgainstAModel(t *testing.T) {
	rnd := seeded(t)
	for round := range 60 {
		rows := 1 + rnd.IntN(400)
		var csv, ndjson strings.Builder
		csv.WriteString("n,text\n")
		for i := range rows {
			fmt.Fprintf(&csv, "%d,\"a,\n%d\"\n", i, i)
			fmt.Fprintf(&ndjson, "{\"text\":\"a\",\"n\":%d}\n", i)
		}
		data := csv.String()
		if round%2 == 1 {
			data = ndjson.String()
		}
		file, err := input.OpenBytes("f", []byte(data), 0)
		if err != nil {
			t.Fatal(err)
		}
		seen := make([]int, rows)
		emitAll(t, rnd, unlimited(), 200, func() task.Source { return NewFileSource(file, "n", serde.Long) },
			func(r *serde.Record) { seen[r.Key.Num]++ })
		if i := slices.IndexFunc(seen, func(n int) bool { return n != 1 }); i >= 0 {
			t.Fatalf("round %d: row %d of %d was emitted %d times", round, i, rows, seen[i])
		}
	}
}

func TestFileSourceRefuses(t *testing.T) {
	open := func(data string) *input.File {
		f, err := input.OpenBytes("f", []byte(data), 0)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	src := NewFileSource(open("a,b\n1,2\n3,4\n"), "a", serde.Long)
	if err := src.Open(contextOf(t, unlimited(), 1, 0)); err != nil {
		t.Fatal(err)
	}
	state := src.Snapshot()
	for want, other := range map[string]*FileSource{
		`reads column "a", the job reads "b"`: NewFileSource(open("a,b\n1,2\n3,4\n"), "b", serde.Long),
		"is of a file of 2 rows and 12 bytes": NewFileSource(open("a,b\n1,2\n"), "a", serde.Long),
	} {
		if err := other.Restore(state); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, b := range [][]byte{nil, {1, 2}, make([]byte, 40), append([]byte{1, 0, 0, 0, 9, 0, 0, 0, 2}, state.Splits[0][9:]...)} {
		if err := src.Restore(&checkpoint.OperatorState{Splits: [][]byte{b}}); err == nil {
			t.Errorf("%x accepted", b)
		}
	}
	bad := NewFileSource(open("a\n1\nx\n"), "a", serde.Long)
	if err := bad.Open(contextOf(t, unlimited(), 1, 0)); err != nil {
		t.Fatal(err)
	}
	var r serde.Record
	bad.Next(&r)
	if status, _ := bad.Next(&r); status != task.End || bad.Err() == nil || !strings.Contains(bad.Err().Error(), `f line 3: column "a"`) {
		t.Errorf("%v %v", status, bad.Err())
	}
}

func TestNumberSplits(t *testing.T) {
	// Flink's NumberSequenceIterator.split: whole numbers in a row, the first pieces one longer.
	for _, c := range []struct {
		count int64
		of    int
		want  string
	}{
		{10, 3, "[0,4) [4,7) [7,10)"},
		{2, 3, "[0,1) [1,2) [2,2)"},
		{9223372036854775807, 2, "[0,4611686018427387904) [4611686018427387904,9223372036854775807)"},
	} {
		var got []string
		for i := range c.of {
			s := splitNumbers(c.count, c.of, i)
			got = append(got, fmt.Sprintf("[%d,%d)", s.next, s.end))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%d in %d: %v, want %s", c.count, c.of, got, c.want)
		}
	}
}

func TestNumberSourcesAgainstAModel(t *testing.T) {
	rnd := seeded(t)
	for range 40 {
		s := unlimited()
		count := rnd.Int64N(3000)
		s.Keys, s.RecordBytes = 1+rnd.Int64N(50), 3
		want, got := SequenceCounts(count, s.Keys), make([]int64, s.Keys)
		emitAll(t, rnd, s, 1500, func() task.Source { return NewSequence(count) }, func(r *serde.Record) { got[r.Key.Num]++ })
		if !slices.Equal(got, want) {
			t.Fatalf("sequence of %d over %d keys: %v, want %v", count, s.Keys, got, want)
		}
		count++
		s.HotKeyShare = float64(rnd.IntN(3)) * 0.4
		k := newKeyer(s, serde.Long)
		clear(got)
		clear(want)
		for n := range count {
			want[k.number(n)]++
		}
		emitAll(t, rnd, s, 1500, func() task.Source { return NewGenerator(count) }, func(r *serde.Record) {
			got[r.Key.Num]++
			if r.Payload != "xxx" {
				t.Fatalf("payload %q", r.Payload)
			}
		})
		if !slices.Equal(got, want) {
			t.Fatalf("generator of %d over %d keys: %v, want %v", count, s.Keys, got, want)
		}
	}
}

// Two subtasks share the rate; after a rescale to one or three the sum is the same; a change of the knob is live.
func TestGeneratorRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := task.Defaults()
		s.Rate = 1000
		var states []*checkpoint.OperatorState
		for _, p := range []int{2, 3, 1, 2} {
			dealt := deal(states, p)
			states = nil
			total := 0
			for i := range p {
				g := NewGenerator(0)
				if p != 2 || dealt[i].Splits != nil {
					if err := g.Restore(dealt[i]); err != nil {
						t.Fatal(err)
					}
				}
				settings := s
				ctx := contextOf(t, &settings, p, i)
				if err := g.Open(ctx); err != nil {
					t.Fatal(err)
				}
				total += generateFor(g, 2*time.Second)
				faster := s
				faster.Rate = 4000
				ctx.Settings = &faster
				g.SettingsChanged()
				total += generateFor(g, time.Second)
				states = append(states, g.Snapshot())
			}
			if total < 5990 || total > 6010 {
				t.Errorf("parallelism %d: %d records, want 6000", p, total)
			}
		}
	})
}

func generateFor(g *Generator, d time.Duration) int {
	n := 0
	var r serde.Record
	for end := time.Now().Add(d); time.Now().Before(end); {
		status, wait := g.Next(&r)
		if status == task.Ready {
			n++
			continue
		}
		time.Sleep(min(wait, time.Until(end)))
	}
	return n
}

func TestSourceRestoreRefuses(t *testing.T) {
	good := (&numberSplits{splits: []numberSplit{{0, 1, 5, 9}}}).snapshot().Splits[0]
	for _, b := range [][]byte{nil, good[:24], append([]byte{2}, good[1:]...), append([]byte{1, 0, 0, 0, 1}, good[5:]...), append(slices.Clone(good[:17]), make([]byte, 8)...)} {
		for _, src := range []task.Source{NewGenerator(0), NewSequence(10)} {
			if err := src.Restore(&checkpoint.OperatorState{Splits: [][]byte{b}}); err == nil {
				t.Errorf("%x accepted", b)
			}
		}
	}
	s := task.Defaults()
	s.KeyType = "decimal"
	if err := NewGenerator(0).Open(contextOf(t, &s, 1, 0)); err == nil || !strings.Contains(err.Error(), `"decimal"`) {
		t.Errorf("%v", err)
	}
}

func TestSourcesAllocateNothing(t *testing.T) {
	s := unlimited()
	for _, kt := range []string{"long", "int", "string", "bool", "double"} {
		s.KeyType = kt
		g := NewGenerator(0)
		q := NewSequence(1 << 40)
		for _, src := range []task.Source{g, q} {
			if err := src.Open(contextOf(t, s, 2, 1)); err != nil {
				t.Fatal(err)
			}
			var r serde.Record
			if n := testing.AllocsPerRun(1000, func() { src.Next(&r) }); n != 0 {
				t.Errorf("%T %s: %v allocations a record", src, kt, n)
			}
		}
	}
}

func BenchmarkSource(b *testing.B) {
	hot := unlimited()
	hot.HotKeyShare = 0.8
	fast := unlimited()
	fast.Rate = 1e9
	for name, c := range map[string]struct {
		src task.Source
		s   *task.Settings
	}{"sequence": {NewSequence(1 << 50), unlimited()}, "generator": {NewGenerator(0), unlimited()}, "hot": {NewGenerator(0), hot}, "limited": {NewGenerator(0), fast}} {
		b.Run(name, func(b *testing.B) {
			if err := c.src.Open(contextOf(b, c.s, 1, 0)); err != nil {
				b.Fatal(err)
			}
			var r serde.Record
			for b.Loop() {
				c.src.Next(&r)
			}
		})
	}
}
