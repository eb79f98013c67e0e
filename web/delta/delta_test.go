package delta

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"testing"

	"weir/engine/metric"
)

func parse(t *testing.T, s string) any {
	t.Helper()
	v, err := Of(json.RawMessage(s))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestDiff(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"a field that changed", `{"a":1,"b":2}`, `{"a":1,"b":3}`, `{"b":3}`},
		{"a field that came", `{"a":1}`, `{"a":1,"b":{"c":1}}`, `{"b":{"c":1}}`},
		{"a field that went", `{"a":1,"b":2}`, `{"a":1}`, `{"b":null}`},
		{"numbers are replaced whole", `{"fill":[1,2,3]}`, `{"fill":[1,2,4]}`, `{"fill":[1,2,4]}`},
		{"objects of an array by index", `{"c":[{"x":1,"y":1},{"x":2}]}`, `{"c":[{"x":1,"y":2},{"x":2}]}`, `{"c":{"0":{"y":2}}}`},
		{"another length is whole", `{"c":[{"x":1}]}`, `{"c":[{"x":1},{"x":2}]}`, `{"c":[{"x":1},{"x":2}]}`},
		{"an emptied array", `{"c":[{"x":1}]}`, `{"c":[]}`, `{"c":[]}`},
		{"a null is no field", `{"a":1}`, `{"a":1,"b":null}`, ``},
		{"nothing", `{"a":[{"b":[1]}]}`, `{"a":[{"b":[1]}]}`, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			from, to := parse(t, c.from), parse(t, c.to)
			d, changed := diff(from, to)
			got := ""
			if changed {
				b, err := json.Marshal(d)
				if err != nil {
					t.Fatal(err)
				}
				got = string(b)
			}
			if got != c.want {
				t.Errorf("diff is %s, want %s", got, c.want)
			}
			if changed && !same(Merge(from, d), to) {
				t.Errorf("merged: %v, want %v", Merge(from, d), to)
			}
		})
	}
}

func TestShorten(t *testing.T) {
	for in, want := range map[string]string{
		"12345678901": "12345678901", "0.123456": "0.123", "12.3456": "12.3", "999.87226": "999.9", "239948.11": "239948", "1e-9": "0", "-3.14159": "-3.142",
	} {
		if got := shorten(json.Number(in)); got.String() != want {
			t.Errorf("%s is shortened to %s, want %s", in, got, want)
		}
	}
}

// A reader that merges each difference must have what the server has, whatever changes.
func TestMergeOfDiffs(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	// A field keeps its kind, as those of a Snapshot do; everything else may come, go and change.
	var grow func(depth int) map[string]any
	grow = func(depth int) map[string]any {
		m := map[string]any{}
		for _, field := range []string{"object", "objects", "numbers", "number", "flag"} {
			if rng.IntN(3) == 0 || depth == 0 && field == "object" || depth == 0 && field == "objects" {
				continue
			}
			switch field {
			case "object":
				m[field] = grow(depth - 1)
			case "objects":
				a := make([]any, rng.IntN(4))
				for i := range a {
					a[i] = grow(depth - 1)
				}
				m[field] = a
			case "numbers":
				a := make([]any, rng.IntN(4))
				for i := range a {
					a[i] = json.Number(strconv.Itoa(rng.IntN(3)))
				}
				m[field] = a
			case "number":
				m[field] = json.Number(strconv.Itoa(rng.IntN(3)))
			case "flag":
				m[field] = rng.IntN(2) == 0
			}
		}
		return m
	}
	root := func() map[string]any { return grow(3) }
	var reader any = root()
	server := reader
	for i := range 2000 {
		next := any(root())
		d, changed := diff(server, next)
		if changed {
			reader = Merge(reader, d)
		}
		server = next
		if !same(reader, server) {
			t.Fatalf("seed %d, step %d: the reader has %v, the server %v", seed, i, reader, server)
		}
	}
}

func BenchmarkDiff(b *testing.B) {
	look := func(n int64) Tree {
		t, err := Of(metric.Snapshot{
			Lab: "backpressure", State: "RUNNING", TimeMs: 100 * n,
			Vertices:    []metric.Vertex{{ID: "source", Subtasks: []metric.Subtask{{}, {}}}, {ID: "sink", Subtasks: []metric.Subtask{{}, {}}}},
			Channels:    []metric.Channel{{Kind: "remote", SentBuffers: n, Producer: metric.ProducerEnd{Buffers: 2, Fill: []int{32768, int(n)}}}},
			Checkpoints: []metric.Checkpoint{{ID: 1, Status: "COMPLETED", TriggerMs: 50}},
		})
		if err != nil {
			b.Fatal(err)
		}
		return t
	}
	from, to := look(1), look(2)
	b.ReportAllocs()
	for b.Loop() {
		diff(from, to)
	}
}
