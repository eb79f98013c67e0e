package compositekey

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/keyed"
	"weir/engine/state/lsm"
	"weir/exercises/18-composite-key/api"
	"weir/exercises/history"
	"weir/exercises/kit"
	"weir/labs"
)

// inStore fills a real store with the states of a few operators, and looks each entry up by the learner's key; then it cuts
// ranges of key groups out of it by the learner's bounds, as a rescale does.
func inStore(_ context.Context, w *kit.Work, _ uint64) *kit.Finding {
	for _, c := range []struct {
		key  serde.KeyType
		most int
	}{{serde.Long, 128}, {serde.String, 300}} {
		s, err := fill(c.key, c.most)
		if err != nil {
			return history.Broken(err)
		}
		f, err := s.judge(proxy{w.Core})
		if err = errors.Join(err, s.close()); err != nil {
			return history.Broken(err)
		}
		if f != nil {
			return f
		}
	}
	return nil
}

// filled is a store with what was put into it.
type filled struct {
	most    int
	memory  *lsm.Memory
	b       *lsm.Backend
	entries []api.Entry
}

func (s *filled) close() error {
	err := s.b.Close()
	s.memory.Close()
	return err
}

const storeBudget = 16 << 20

// fill makes a store for all key groups, with a value, a value in windows and a map.
func fill(t serde.KeyType, most int) (*filled, error) {
	memory, err := lsm.NewMemory(storeBudget, 1)
	if err != nil {
		return nil, err
	}
	ids := lsm.NewStateIDs()
	b, err := lsm.Open(lsm.Options{Dir: "/db", FS: vfs.NewMem(), Key: t, MaxParallelism: most, KeyGroups: keygroup.Range{Last: most - 1}, Memory: memory, StateIDs: ids})
	if err != nil {
		memory.Close()
		return nil, err
	}
	s := &filled{most: most, memory: memory, b: b}
	if err := s.put(t, ids); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *filled) put(t serde.KeyType, ids *lsm.StateIDs) error {
	count, err := keyed.Value(s.b, state.ValueDescriptor[int64]{Name: "count", Codec: state.Int64()})
	if err != nil {
		return err
	}
	sum, err := keyed.Value(s.b, state.ValueDescriptor[int64]{Name: "sum", Codec: state.Int64(), Namespace: state.WindowNamespace})
	if err != nil {
		return err
	}
	visits, err := keyed.Map(s.b, state.MapDescriptor[string, int64]{Name: "visits", Key: state.String(), Value: state.Int64()})
	if err != nil {
		return err
	}
	var id [3]uint16
	for i, name := range []string{"count", "sum", "visits"} {
		if id[i], err = ids.ID(name); err != nil {
			return err
		}
	}
	rnd := rand.New(rand.NewPCG(18, uint64(t)))
	void := api.Part{Bytes: []byte{0}}
	for i := range 150 {
		k := serde.Key{Num: int64(rnd.Uint64()) >> rnd.IntN(64)}
		if t == serde.String {
			k = serde.Key{Str: fmt.Sprintf("%c-%d", []rune("a用😀")[i%3], i)}
		}
		hash := serde.HashKey(t, k)
		if err := s.b.Context().Set(k, hash); err != nil {
			return err
		}
		e := api.Entry{Group: keygroup.Assign(hash, s.most), State: id[0], Namespace: void, Key: api.Part{Bytes: serde.AppendKey(nil, t, k), Variable: t == serde.String}}
		s.entries = append(s.entries, e)
		start := int64(i) * 1000
		sum.SetNamespace(state.Window{Start: start, End: start + 5000})
		if err := errors.Join(count.Update(int64(i)), sum.Update(1)); err != nil {
			return err
		}
		windowed := e
		windowed.State, windowed.Namespace.Bytes = id[1], binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(start)), uint64(start+5000))
		s.entries = append(s.entries, windowed)
		for _, page := range []string{"home", "buy"}[:i%3] {
			if err := visits.Put(page, 1); err != nil {
				return err
			}
			visit := e
			visit.State, visit.UserKey = id[2], serde.AppendString(nil, page)
			s.entries = append(s.entries, visit)
		}
	}
	return nil
}

var whereStore = labs.Text{En: "The keys of an LSM store as they lie in it, in the order of their bytes; the lab lsm shows them", Zh: "LSM 存储里实际存放的键，按字节序排列；lsm 实验可以看到"}

func (s *filled) judge(p proxy) (*kit.Finding, error) {
	groups := map[string]int{} // of the keys that lie in the store
	n := lsm.KeyGroupPrefixBytes(s.most)
	err := s.b.Scan(nil, nil, func(key, _ []byte) bool {
		groups[string(key)] = lsm.KeyGroupOf(key, n)
		return true
	})
	if err != nil {
		return nil, err
	}
	for i, key := range p.keys(s.most, s.entries) {
		if _, ok := groups[string(key)]; ok {
			continue
		}
		e := s.entries[i]
		call := entryText(s.most, e)
		return &kit.Finding{Expected: labs.Text{En: call + " is a key that the store has", Zh: call + " 是存储里有的 key"},
			Seen:  labs.Text{En: hexText(key) + ", which it does not have", Zh: hexText(key) + "，存储里没有"},
			Where: whereStore, Try: tryKey}, nil
	}
	all := []int{0, 1, 43, s.most / 2, s.most - 1, s.most}
	for i, first := range all {
		for _, end := range all[i+1:] {
			if f, err := s.cut(p, groups, first, end); f != nil || err != nil {
				return f, err
			}
		}
	}
	return nil, nil
}

// cut compares the keys within the learner's bounds with those of the groups.
func (s *filled) cut(p proxy, groups map[string]int, first, end int) (*kit.Finding, error) {
	want := 0
	for _, g := range groups {
		if first <= g && g < end {
			want++
		}
	}
	from, to := p.Bounds(s.most, first, end)
	var got []int
	var err error
	if bytes.Compare(from, to) < 0 {
		err = s.b.Scan(from, to, func(key, _ []byte) bool {
			got = append(got, groups[string(key)])
			return true
		})
	}
	if err != nil {
		return nil, err
	}
	outside := slices.IndexFunc(got, func(g int) bool { return g < first || g >= end })
	if len(got) == want && outside < 0 {
		return nil, nil
	}
	call := fmt.Sprintf("Bounds(%d, %d, %d)", s.most, first, end)
	seen := labs.Text{En: fmt.Sprintf("from %s to %s there are %d", hexText(from), hexText(to), len(got)), Zh: fmt.Sprintf("从 %s 到 %s 有 %d 个", hexText(from), hexText(to), len(got))}
	if outside >= 0 {
		seen.En += fmt.Sprintf(", one of key group %d", got[outside])
		seen.Zh += fmt.Sprintf("，其中一个属于键组 %d", got[outside])
	}
	return &kit.Finding{Expected: labs.Text{En: fmt.Sprintf("%s enclose the %d keys of these groups", call, want), Zh: fmt.Sprintf("%s 圈住这些组的 %d 个 key", call, want)}, Seen: seen, Where: whereStore, Try: tryBounds}, nil
}
