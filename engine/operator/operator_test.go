package operator

import (
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/engine/serde"
	"weir/engine/task"
)

// collected is an Output that keeps the keys of what it gets.
type collected []serde.Key

func (c *collected) Collect(r *serde.Record) error {
	*c = append(*c, r.Key)
	return nil
}

func TestSlowWorksOnTheHotKeyOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := task.Defaults()
		s.WorkMs = 2.5
		ctx := contextOf(t, &s, 1, 0)
		slow, out := NewSlow(serde.Long), &collected{}
		if err := slow.Open(ctx, out); err != nil {
			t.Fatal(err)
		}
		took := func(key int64) time.Duration {
			start := time.Now()
			if err := slow.Process(&serde.Record{Key: serde.Key{Num: key}}); err != nil {
				t.Fatal(err)
			}
			return time.Since(start)
		}
		work := 2500 * time.Microsecond
		if a, b := took(0), took(1); a != work || b != work {
			t.Errorf("on all: %v and %v, want %v", a, b, work)
		}
		hot := s
		hot.WorkOn = "hot"
		ctx.Settings = &hot
		slow.SettingsChanged()
		if a, b := took(0), took(1); a != work || b != 0 {
			t.Errorf("on the hot key: %v and %v, want %v and 0", a, b, work)
		}
		none := hot
		none.WorkMs = 0
		ctx.Settings = &none
		slow.SettingsChanged()
		if a := took(0); a != 0 {
			t.Errorf("no work: %v", a)
		}
		if len(*out) != 5 {
			t.Errorf("%d records passed on, want 5", len(*out))
		}
	})
}

func TestSlowBurnsTheProcessor(t *testing.T) {
	s := task.Defaults()
	s.WorkMs, s.WorkKind = 3, "cpu"
	slow := NewSlow(serde.Long)
	if err := slow.Open(contextOf(t, &s, 1, 0), &collected{}); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := slow.Process(&serde.Record{}); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d < 3*time.Millisecond {
		t.Errorf("%v, want at least 3 ms", d)
	}
}

func TestSinkWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := task.Defaults()
		s.SinkWorkMs = 4
		sink := NewSink()
		if err := sink.Open(contextOf(t, &s, 1, 0), nil); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if err := sink.Process(&serde.Record{}); err != nil || time.Since(start) != 4*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestKeyedCount(t *testing.T) {
	s := task.Defaults()
	ctx := contextOf(t, &s, 1, 0)
	for _, restoreFirst := range []bool{true, false} {
		count, out := NewKeyedCount(serde.String, true), &collected{}
		if err := count.Open(ctx, out); err != nil {
			t.Fatal(err)
		}
		for _, k := range strings.Fields("IAH MIA IAH BQN IAH") {
			if err := count.Process(&serde.Record{Key: serde.Key{Str: k}}); err != nil {
				t.Fatal(err)
			}
		}
		want := map[string]int64{"IAH": 3, "MIA": 1, "BQN": 1}
		if got := count.Counts(); !maps.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		if last := (*out)[4].Num; len(*out) != 5 || last != 3 {
			t.Errorf("emitted %v", *out)
		}
		next := NewKeyedCount(serde.String, false)
		steps := []func() error{func() error { return next.Restore(count.Snapshot()) }, func() error { return next.Open(ctx, nil) }}
		if !restoreFirst {
			steps[0], steps[1] = steps[1], steps[0]
		}
		for _, step := range steps {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
		if err := next.Process(&serde.Record{Key: serde.Key{Str: "MIA"}}); err != nil {
			t.Fatal(err)
		}
		want["MIA"] = 2
		if got, st := next.Counts(), next.State(); !maps.Equal(got, want) || st.Keys != 3 || st.RestoredKeys != 3 || st.KeysOutOfRange != 0 || st.Bytes != 3*(4+8) {
			t.Errorf("%v, %+v", got, st)
		}
	}
	many := NewKeyedCount(serde.Long, false)
	if err := many.Open(ctx, nil); err != nil {
		t.Fatal(err)
	}
	for i := range int64(MaxCounts + 1) {
		if err := many.Process(&serde.Record{Key: serde.Key{Num: i}}); err != nil {
			t.Fatal(err)
		}
	}
	if many.Counts() != nil {
		t.Error("counts of more keys than MaxCounts")
	}
}

func TestChecksum(t *testing.T) {
	const records, keys, bytes = 5000, 70, 40
	s := unlimited()
	s.Keys, s.RecordBytes = keys, bytes
	for name, spoil := range map[string]func(sink task.Operator, r *serde.Record){
		"": func(task.Operator, *serde.Record) {},
		"twice": func(sink task.Operator, r *serde.Record) {
			if err := sink.Process(r); err != nil {
				t.Fatal(err)
			}
		},
		"changed": func(_ task.Operator, r *serde.Record) { r.Payload = "y" + r.Payload[1:] },
		"cut":     func(_ task.Operator, r *serde.Record) { r.Payload = r.Payload[1:] },
		"moved":   func(_ task.Operator, r *serde.Record) { r.Key.Num = (r.Key.Num + 1) % keys },
	} {
		all := NewChecksums(keys)
		for i := range 2 {
			src, sink := NewSequence(records), all.New()
			ctx := contextOf(t, s, 2, i)
			if err := src.Open(ctx); err != nil {
				t.Fatal(err)
			}
			if err := sink.Open(ctx, nil); err != nil {
				t.Fatal(err)
			}
			var r serde.Record
			for n := 0; ; n++ {
				if status, _ := src.Next(&r); status == task.End {
					break
				}
				if n == 1234 {
					spoil(sink, &r)
				}
				if err := sink.Process(&r); err != nil {
					t.Fatal(err)
				}
			}
			if err := sink.Finish(); err != nil {
				t.Fatal(err)
			}
		}
		if err := all.Verify(records, bytes); (err == nil) != (name == "") {
			t.Errorf("%q: %v", name, err)
		}
	}
	sink := NewChecksums(keys).New()
	if err := sink.Open(contextOf(t, s, 1, 0), nil); err != nil {
		t.Fatal(err)
	}
	if err := sink.Process(&serde.Record{Key: serde.Key{Num: keys}}); err == nil {
		t.Error("a key out of range was accepted")
	}
}
