package operator

import (
	"fmt"
	"strings"
	"testing"

	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/engine/task"
)

// kept keeps what it is given: keys as text, and the payload if there is one.
type kept struct {
	t       serde.KeyType
	records []string
	fail    error
}

func (k *kept) Collect(r *serde.Record) error {
	if k.fail != nil {
		return k.fail
	}
	s := strings.Clone(serde.FormatKey(k.t, r.Key))
	if r.Payload != "" {
		s += "=" + strings.Clone(r.Payload)
	}
	if r.HasTimestamp {
		s += fmt.Sprintf("@%d", r.Timestamp)
	}
	k.records = append(k.records, s)
	return nil
}

func (k *kept) take() string {
	s := strings.Join(k.records, " ")
	k.records = nil
	return s
}

func key(t *testing.T, typ serde.KeyType, s string) serde.Key {
	t.Helper()
	k, err := serde.ParseKey(typ, s)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestFlatMap(t *testing.T) {
	for _, c := range []struct {
		t      serde.KeyType
		fanOut int
		key    string
		want   string
	}{
		{serde.Long, 1, "7", "7=p@5"},
		{serde.Long, 4, "8", "8=p@5 9=p@5 0=p@5 1=p@5"},
		{serde.Int, 3, "9", "9=p@5 0=p@5 1=p@5"},
		{serde.Long, 2, "-3", "-3=p@5 -3=p@5"},
		{serde.String, 3, "9", "9=p@5 0=p@5 1=p@5"},
		{serde.String, 2, "JFK", "JFK=p@5 JFK=p@5"},
		{serde.Double, 2, "9.0", "9.0=p@5 0.0=p@5"},
		{serde.Bool, 2, "true", "true=p@5 false=p@5"},
		{serde.Long, 0, "7", "7=p@5"},
	} {
		s := task.Defaults()
		s.FanOut, s.Keys = c.fanOut, 10
		out := &kept{t: c.t}
		f := NewFlatMap(c.t)
		if err := f.Open(&task.Context{Settings: &s}, out); err != nil {
			t.Fatal(err)
		}
		if err := f.Process(&serde.Record{Key: key(t, c.t, c.key), Payload: "p", Timestamp: 5, HasTimestamp: true}); err != nil {
			t.Fatal(err)
		}
		if got := out.take(); got != c.want {
			t.Errorf("%s %s, fan-out %d: %s, want %s", c.t, c.key, c.fanOut, got, c.want)
		}
	}
	f := NewFlatMap(serde.Long)
	s := task.Defaults()
	s.FanOut = 3
	broken := fmt.Errorf("no more")
	if err := f.Open(&task.Context{Settings: &s}, &kept{fail: broken}); err != nil {
		t.Fatal(err)
	}
	if err := f.Process(&serde.Record{}); err != broken {
		t.Errorf("error %v, want %v", err, broken)
	}
}

// TestTwoStages: a salted key goes to many key groups, and the first stage takes the salt off again.
func TestTwoStages(t *testing.T) {
	for _, c := range []struct {
		t   serde.KeyType
		key string
	}{{serde.Long, "-7"}, {serde.Int, "3"}, {serde.String, "a#b"}, {serde.String, ""}, {serde.Bool, "true"}, {serde.Double, "2.5"}} {
		s := task.Defaults()
		ctx := &task.Context{Settings: &s}
		out := &kept{t: c.t}
		pre := NewPreCount(c.t)
		salts := &kept{t: serde.String}
		salt := NewSalt(c.t)
		if err := pre.Open(ctx, out); err != nil {
			t.Fatal(err)
		}
		if err := salt.Open(ctx, salts); err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			if err := salt.Process(&serde.Record{Key: key(t, c.t, c.key)}); err != nil {
				t.Fatal(err)
			}
		}
		different := map[string]bool{}
		for _, salted := range salts.records {
			different[salted] = true
			if err := pre.Process(&serde.Record{Key: serde.Key{Str: salted}, Payload: "x"}); err != nil {
				t.Fatal(err)
			}
		}
		if len(different) != Salts {
			t.Errorf("%s %q: %d salted keys, want %d", c.t, c.key, len(different), Salts)
		}
		if got := out.take(); got != "" {
			t.Errorf("sent %s before the bundle was full", got)
		}
		if err := pre.PrepareSnapshotPreBarrier(1); err != nil {
			t.Fatal(err)
		}
		if got, want := out.take(), serde.FormatKey(c.t, key(t, c.t, c.key))+"=1000"; got != want {
			t.Errorf("before the barrier: %s, want %s", got, want)
		}
		if err := pre.Tick(); err != nil || len(out.records) > 0 {
			t.Errorf("an empty bundle: %v, %v", out.records, err)
		}
	}
}

// TestPreCountBundles: a full bundle goes at once, in the order in which its keys came, with the oldest stamp of each.
func TestPreCountBundles(t *testing.T) {
	out := &kept{t: serde.Long}
	p := NewPreCount(serde.Long)
	if err := p.Open(nil, out); err != nil {
		t.Fatal(err)
	}
	for i := range bundleRecords + 1 {
		if err := p.Process(&serde.Record{Key: serde.Key{Str: fmt.Sprintf("%d#1", 2-i%2)}, Timestamp: int64(i), HasTimestamp: true}); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := out.take(), "2=2500@0 1=2500@1"; got != want {
		t.Errorf("full bundle: %s, want %s", got, want)
	}
	if err := p.Finish(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.take(), "2=1@5000"; got != want {
		t.Errorf("at the end: %s, want %s", got, want)
	}
	for _, bad := range []string{"7", "x#1"} {
		if err := p.Process(&serde.Record{Key: serde.Key{Str: bad}}); err == nil {
			t.Errorf("key %q was taken", bad)
		} else {
			t.Log(err)
		}
	}
	settings := task.Defaults()
	sum := NewKeyedSum(serde.Long, false)
	if err := sum.Open(&task.Context{Settings: &settings, MaxParallelism: 128, KeyGroups: keygroup.Range{First: 0, Last: 127}}, out); err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"20", "3"} {
		if err := sum.Process(&serde.Record{Key: serde.Key{Num: 4}, Payload: n}); err != nil {
			t.Fatal(err)
		}
	}
	if got := sum.Counts()["4"]; got != 23 {
		t.Errorf("sum %d, want 23", got)
	}
	if err := sum.Process(&serde.Record{Payload: "many"}); err == nil {
		t.Error("a count that is not a number was taken")
	}
}
