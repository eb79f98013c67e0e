package heap

import (
	"testing"

	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/state"
)

func tmpMaps() []CopyOnWriteMap[number, int64] {
	maps := make([]CopyOnWriteMap[number, int64], 128)
	for i := range maps {
		maps[i].init(nil)
	}
	for k := range int64(1000000) {
		h := keygroup.HashLong(k)
		m := &maps[keygroup.Assign(h, 128)]
		if m.find(h, number(k)) == nil {
			m.insert(h, number(k), 1)
		}
	}
	return maps
}

func TestTmpProbes(t *testing.T) {
	maps := tmpMaps()
	var n, p, words int
	for i := range maps {
		m := &maps[i]
		words += len(m.words)
		for at, w := range m.words {
			if w != 0 {
				home := spread(int32(w>>32)) >> m.shift
				n++
				p += int((uint32(at) - home) & uint32(len(m.words)-1))
			}
		}
	}
	t.Logf("%d entries, %f probes, %d words", n, float64(p)/float64(n), words)
}

func BenchmarkTmpMap(b *testing.B) {
	maps := tmpMaps()
	n := uint64(1)
	for b.Loop() {
		n = n*6364136223846793005 + 1442695040888963407
		k := int64(n>>33) % 1000000
		h := keygroup.HashLong(k)
		m := &maps[keygroup.Assign(h, 128)]
		if e := m.find(h, number(k)); e == nil {
			m.insert(h, number(k), 1)
		} else {
			e.value++
		}
	}
}

func BenchmarkTmpTable(b *testing.B) {
	be, _ := New(Options{Key: serde.Long, MaxParallelism: 128, KeyGroups: keygroup.Range{First: 0, Last: 127}})
	d := state.ValueDescriptor[int64]{Name: "count", Codec: state.Int64()}
	m, _ := d.Meta()
	tt, _ := Value(be, m, d.Codec)
	t := tt.(*table[number, int64])
	ctx := be.Context()
	for k := range int64(1000000) {
		k := serde.Key{Num: k}
		ctx.Set(k, serde.HashKey(serde.Long, k))
		t.Put(state.Window{}, 1)
	}
	n := uint64(1)
	for b.Loop() {
		n = n*6364136223846793005 + 1442695040888963407
		k := serde.Key{Num: int64(n>>33) % 1000000}
		ctx.Set(k, serde.HashKey(serde.Long, k))
		v, _, _ := t.Get(state.Window{})
		t.Put(state.Window{}, v+1)
	}
}

func BenchmarkTmpTableGet(b *testing.B) {
	be, _ := New(Options{Key: serde.Long, MaxParallelism: 128, KeyGroups: keygroup.Range{First: 0, Last: 127}})
	d := state.ValueDescriptor[int64]{Name: "count", Codec: state.Int64()}
	m, _ := d.Meta()
	tt, _ := Value(be, m, d.Codec)
	t := tt.(*table[number, int64])
	ctx := be.Context()
	for k := range int64(1000000) {
		k := serde.Key{Num: k}
		ctx.Set(k, serde.HashKey(serde.Long, k))
		t.Put(state.Window{}, 1)
	}
	n := uint64(1)
	for b.Loop() {
		n = n*6364136223846793005 + 1442695040888963407
		k := serde.Key{Num: int64(n>>33) % 1000000}
		ctx.Set(k, serde.HashKey(serde.Long, k))
		t.Get(state.Window{})
	}
}

func tmpState(b *testing.B, clear, update bool) {
	be, _ := New(Options{Key: serde.Long, MaxParallelism: 128, KeyGroups: keygroup.Range{First: 0, Last: 127}})
	d := state.ValueDescriptor[int64]{Name: "count", Codec: state.Int64()}
	m, _ := d.Meta()
	tt, _ := Value(be, m, d.Codec)
	ctx := be.Context()
	t := state.NewValueState(ctx, tt, d)
	for k := range int64(1000000) {
		k := serde.Key{Num: k}
		ctx.Set(k, serde.HashKey(serde.Long, k))
		t.Update(1)
	}
	n := uint64(1)
	for b.Loop() {
		n = n*6364136223846793005 + 1442695040888963407
		k := serde.Key{Num: int64(n>>33) % 1000000}
		ctx.Set(k, serde.HashKey(serde.Long, k))
		v, _, _ := t.Get()
		if update {
			t.Update(v + 1)
		}
		if clear {
			ctx.Clear()
		}
	}
}
func BenchmarkTmpState(b *testing.B)            { tmpState(b, false, false) }
func BenchmarkTmpStateUpdate(b *testing.B)      { tmpState(b, false, true) }
func BenchmarkTmpStateUpdateClear(b *testing.B) { tmpState(b, true, true) }

func BenchmarkTmpIface(b *testing.B) {
	be, _ := New(Options{Key: serde.Long, MaxParallelism: 128, KeyGroups: keygroup.Range{First: 0, Last: 127}})
	d := state.ValueDescriptor[int64]{Name: "count", Codec: state.Int64()}
	m, _ := d.Meta()
	t, _ := Value(be, m, d.Codec)
	ctx := be.Context()
	for k := range int64(1000000) {
		k := serde.Key{Num: k}
		ctx.Set(k, serde.HashKey(serde.Long, k))
		t.Put(state.Window{}, 1)
	}
	n := uint64(1)
	for b.Loop() {
		n = n*6364136223846793005 + 1442695040888963407
		k := serde.Key{Num: int64(n>>33) % 1000000}
		ctx.Set(k, serde.HashKey(serde.Long, k))
		v, _, _ := t.Get(state.Window{})
		t.Put(state.Window{}, v+1)
	}
}
