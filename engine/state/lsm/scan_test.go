package lsm_test

import (
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/state"
	"weir/engine/state/keyed"
	"weir/engine/state/lsm"
)

// Scan shows what lies in the DB, in the order of bytes and within bounds; a closed one refuses.
func TestScan(t *testing.T) {
	b, err := lsm.Open(lsm.Options{Dir: "/db", FS: vfs.NewMem(), Key: serde.Long, MaxParallelism: 128, KeyGroups: keygroup.Range{First: 0, Last: 127}, Memory: newMemory(t, 64<<20, 1)})
	if err != nil {
		t.Fatal(err)
	}
	count, err := keyed.Value(b, state.ValueDescriptor[int64]{Name: "count", Codec: state.Int64()})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []int64{1, 4, 5} { // key groups 86, 7 and 126
		if err := b.Context().Set(serde.Key{Num: k}, keygroup.HashLong(k)); err != nil {
			t.Fatal(err)
		}
		if err := count.Update(k); err != nil {
			t.Fatal(err)
		}
	}
	groups := func(lower, upper []byte, most int) (all []int) {
		err := b.Scan(lower, upper, func(key, _ []byte) bool {
			all = append(all, lsm.KeyGroupOf(key, 1))
			return len(all) < most
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	for _, c := range []struct {
		lower, upper []byte
		most         int
		want         []int
	}{{nil, nil, 9, []int{7, 86, 126}}, {[]byte{8}, []byte{126}, 9, []int{86}}, {nil, nil, 2, []int{7, 86}}, {[]byte{127}, nil, 9, nil}} {
		if got := groups(c.lower, c.upper, c.most); !slices.Equal(got, c.want) {
			t.Errorf("from %x to %x: key groups %v, expected %v", c.lower, c.upper, got, c.want)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Scan(nil, nil, func(_, _ []byte) bool { return true }); err == nil {
		t.Error("a closed store was read")
	}
}

// UploadPlan relies on the newest checkpoint that is known to be complete.
func TestUploadPlan(t *testing.T) {
	p := lsm.NewUploadPlan()
	for i, c := range []struct {
		id        int64
		completed int64
		want      []int64
	}{{1, 0, []int64{0, 0}}, {2, 2, []int64{0, 0}}, {3, 0, []int64{2, 2}}, {4, 1, []int64{2, 2}}} {
		if got := p.Plan(c.id, []string{"1.sst", "2.sst"}); !slices.Equal(got, c.want) {
			t.Errorf("plan %d: %v, expected %v", i, got, c.want)
		}
		p.Completed(c.completed)
	}
	p.Aborted(4)
	if got := p.Plan(5, []string{"2.sst", "3.sst"}); !slices.Equal(got, []int64{2, 0}) {
		t.Errorf("%v", got)
	}
}
