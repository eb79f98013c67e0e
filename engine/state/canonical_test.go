package state_test

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"testing"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/heap"
	"weir/engine/state/keyed"
)

type entry struct {
	state          string
	key            serde.Key
	ns             state.Window
	userKey, value string
}

func read(b []byte, t serde.KeyType) (out []entry, err error) {
	r := state.NewCanonicalReader(b, t)
	for r.NextState() {
		for r.NextEntry() {
			out = append(out, entry{r.Meta.Name, r.Key, r.Namespace, string(r.UserKey), string(r.Value)})
		}
	}
	return out, r.Err()
}

func TestCanonical(t *testing.T) {
	var buf bytes.Buffer
	w := state.NewCanonicalWriter(context.Background(), &buf, serde.String)
	value := state.Meta{Name: "value", Codec: "long", FixedValue: 8}
	dict := state.Meta{Name: "dict", Kind: state.KindMap, Namespace: state.WindowNamespace, Codec: "string", KeyCodec: "string"}
	ns := state.Window{Start: -5, End: 5}
	w.Group(3) // has nothing
	w.Group(4)
	w.State(value, 2)
	k := serde.Key{Str: "é"}
	for _, v := range []string{"00000001", "00000002"} {
		if err := w.Entry(k, ns, nil, []byte(v)); err != nil {
			t.Fatal(err)
		}
	}
	w.State(dict, -1)
	for _, v := range []string{"", "long"} {
		if err := w.Entry(k, ns, []byte("user"), []byte(v)); err != nil {
			t.Fatal(err)
		}
	}
	w.Group(9)
	w.State(value, 1)
	if err := w.Entry(k, ns, nil, []byte("00000003")); err != nil {
		t.Fatal(err)
	}
	w.Group(10)
	offsets, err := w.Finish()
	if err != nil || len(offsets) != 2 || offsets[0].KeyGroup != 4 || offsets[1].KeyGroup != 9 || offsets[1].Offset+offsets[1].Length != int64(buf.Len()) {
		t.Fatalf("%v, %v of %d bytes", offsets, err, buf.Len())
	}
	groups := state.SplitGroups(buf.Bytes(), offsets)
	got, err := read(groups[0].Data, serde.String)
	want := []entry{{"value", k, state.Window{}, "", "00000001"}, {"value", k, state.Window{}, "", "00000002"}, {"dict", k, ns, "user", ""}, {"dict", k, ns, "user", "long"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range groups[0].Data {
		if some, err := read(groups[0].Data[:n], serde.String); err == nil && len(some) == len(want) {
			t.Errorf("all read from %d of %d bytes", n, len(groups[0].Data))
		}
	}
}

func TestWriterStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w := state.NewCanonicalWriter(ctx, &bytes.Buffer{}, serde.Long)
	w.Group(0)
	if _, err := w.Finish(); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Bytes that a restore takes come out of the next snapshot the same, and no bytes make it fail but with an error.
func FuzzRestore(f *testing.F) {
	backend := func(t testing.TB, k serde.KeyType) *heap.Backend {
		b, err := heap.New(heap.Options{Key: k, MaxParallelism: 128, KeyGroups: keygroup.Range{First: 0, Last: 127}})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	open := func(b state.Backend) (*state.ValueState[int64], *state.MapState[string, []byte], *state.ListState[string], error) {
		v, err1 := keyed.Value(b, state.ValueDescriptor[int64]{Name: "v", Codec: state.Int64()})
		m, err2 := keyed.Map(b, state.MapDescriptor[string, []byte]{Name: "m", Key: state.String(), Value: state.ByteArray(), Namespace: state.WindowNamespace})
		l, err3 := keyed.List(b, state.ListDescriptor[string]{Name: "l", Codec: state.String()})
		return v, m, l, errors.Join(err1, err2, err3)
	}
	for _, kt := range []serde.KeyType{serde.Long, serde.Int, serde.String, serde.Bool, serde.Double} {
		b := backend(f, kt)
		v, m, l, err := open(b)
		if err != nil {
			f.Fatal(err)
		}
		timers, err := b.Timers("t", state.NoNamespace)
		if err != nil {
			f.Fatal(err)
		}
		for i := range int64(20) {
			k := serde.Key{Num: i & 1, Str: string(rune('a' + i))}
			if kt != serde.String {
				k.Str = ""
			} else {
				k.Num = 0
			}
			if err := b.Context().Set(k, serde.HashKey(kt, k)); err != nil {
				f.Fatal(err)
			}
			m.SetNamespace(state.Window{Start: i, End: i + 1})
			_, err := timers.Register(i, state.Window{})
			if err := errors.Join(err, v.Update(i), m.Put("x", nil), m.Put("y", []byte{1}), l.Add("p", "q")); err != nil {
				f.Fatal(err)
			}
		}
		groups, err := state.GroupBytes(b, 1)
		if err != nil {
			f.Fatal(err)
		}
		for _, g := range groups {
			f.Add(byte(kt), g.KeyGroup, g.Data)
		}
	}
	f.Fuzz(func(t *testing.T, kt byte, group int, data []byte) {
		k := serde.KeyType(kt % 5)
		in := []checkpoint.KeyGroupState{{KeyGroup: group, Data: data}}
		made, raw := backend(t, k), backend(t, k)
		if _, _, _, err := open(made); err != nil {
			t.Fatal(err)
		}
		errMade, errRaw := made.Restore(in), raw.Restore(in)
		if errMade == nil && errRaw != nil {
			t.Fatalf("the values are right, the bytes not: %v", errRaw)
		}
		if errMade != nil {
			return
		}
		if s := made.Stats(); s.KeysOutOfRange > 0 {
			return
		}
		out, err := state.GroupBytes(made, 1)
		if err != nil {
			t.Fatal(err)
		}
		again := backend(t, k)
		if err := again.Restore(out); err != nil {
			t.Fatal(err)
		}
		if a, b := made.Stats(), again.Stats(); a.Keys != b.Keys || a.Bytes != b.Bytes {
			t.Fatalf("%+v, then %+v", a, b)
		}
	})
}
