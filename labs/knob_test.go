package labs

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"weir/engine/task"
)

// other is a value that the knob takes and that differs from its default.
func other(k *Knob) any {
	switch k.Type {
	case Bool:
		return !k.Default.(bool)
	case Enum:
		for _, v := range k.Values {
			if v != k.Default {
				return v
			}
		}
	case Int:
		if k.Default.(int64) != int64(k.Max) {
			return int64(k.Max)
		}
		return int64(k.Min)
	case Float:
		if k.Default.(float64) != k.Max {
			return k.Max
		}
		return k.Min
	}
	return nil
}

func TestEachSettingHasOneKnob(t *testing.T) {
	fields := map[string]string{}
	for _, k := range registry() {
		before, after := task.Defaults(), task.Defaults()
		k.set(&after, other(k))
		if got := k.get(&after); got != other(k) {
			t.Errorf("%s: set %v, got %v", k.Name, other(k), got)
		}
		a, b := reflect.ValueOf(before), reflect.ValueOf(after)
		for i := range a.NumField() {
			if a.Field(i).Interface() == b.Field(i).Interface() {
				continue
			}
			name := a.Type().Field(i).Name
			if fields[name] != "" {
				t.Errorf("%s and %s both move %s", fields[name], k.Name, name)
			}
			fields[name] = k.Name
			if !strings.EqualFold(name, k.Name) {
				t.Errorf("knob %s moves field %s", k.Name, name)
			}
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[task.Settings]()) {
		if fields[f.Name] == "" {
			t.Errorf("no knob moves %s", f.Name)
		}
	}
}

func TestKnobsAreWhole(t *testing.T) {
	now := []string{"rate", "hotKeyShare", "workMs", "bufferTimeoutMs", "debloat", "debloatTargetMs", "debloatPeriodMs", "debloatThresholdPercent"}
	for _, k := range registry() {
		if k.Label.En == "" || k.Label.Zh == "" || k.Help.En == "" || k.Help.Zh == "" {
			t.Errorf("%s lacks a text", k.Name)
		}
		if !slices.Contains([]string{"load", "job", "network", "checkpoints", "state"}, k.Group) {
			t.Errorf("%s: group %q", k.Name, k.Group)
		}
		if !slices.Contains([]string{Now, NextCheckpoint, Restart}, k.TakesEffect) {
			t.Errorf("%s: takes effect %q", k.Name, k.TakesEffect)
		}
		if slices.Contains(now, k.Name) && k.TakesEffect != Now {
			t.Errorf("%s takes effect %s, want now", k.Name, k.TakesEffect)
		}
		if v, err := k.Parse(k.Default); err != nil || v != k.Default {
			t.Errorf("%s: its default %v is read as %v, %v", k.Name, k.Default, v, err)
		}
		if k.StartsEmpty && k.TakesEffect != Restart {
			t.Errorf("%s starts empty without a restart", k.Name)
		}
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		knob string
		in   any
		want any // nil: refused
		says string
	}{
		{"rate", "20000", 20000.0, ""},
		{"rate", "1e3", 1000.0, ""},
		{"rate", 0, 0.0, ""},
		{"rate", "-1", nil, `knob rate: "-1" is out of range: give a number from 0 to 100000000 records/s`},
		{"rate", "fast", nil, `"fast" is not a number`},
		{"rate", "NaN", nil, "is not a number"},
		{"rate", "0x10", nil, "is not a number"},
		{"rate", "", nil, "is not a number"},
		{"rate", nil, nil, "is not a number"},
		{"rate", true, nil, "true is not a number"},
		{"parallelism", "3", int64(3), ""},
		{"parallelism", 3.0, int64(3), ""},
		{"parallelism", 2.5, nil, "2.5 is not an integer: give an integer from 1 to 64"},
		{"parallelism", "65", nil, "is out of range"},
		{"parallelism", "1e300", nil, "is out of range"},
		{"parallelism", []any{1}, nil, "[1] is not a number"},
		{"bufferTimeoutMs", "-1", int64(-1), ""},
		{"bufferTimeoutMs", "-2", nil, "from -1 to 60000 ms"},
		{"debloat", "true", true, ""},
		{"debloat", "off", false, ""},
		{"debloat", false, false, ""},
		{"debloat", "maybe", nil, `"maybe" is not a switch: give true or false`},
		{"debloat", 1, nil, "give true or false"},
		{"keyType", "string", "string", ""},
		{"keyType", "text", nil, "one of long, int, string, bool, double"},
		{"workKind", 3, nil, "3 is not a choice"},
	} {
		k, ok := knobByName(c.knob)
		if !ok {
			t.Fatalf("no knob %s", c.knob)
		}
		got, err := k.Parse(c.in)
		if got != c.want {
			t.Errorf("%s=%v: got %v (%v), want %v", c.knob, c.in, got, err, c.want)
		}
		if c.want != nil {
			continue
		}
		var ke *KnobError
		if !errors.As(err, &ke) || ke.Field != c.knob || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s=%v: error %v, want one that says %q", c.knob, c.in, err, c.says)
		}
	}
}

func TestWith(t *testing.T) {
	l, _ := Get("backpressure")
	for _, c := range []struct {
		given map[string]any
		says  string
	}{
		{map[string]any{"debloatt": true}, "did you mean debloat"},
		{map[string]any{"buffer-timeout": 1}, "did you mean bufferTimeoutMs"},
		{map[string]any{"zzzzzz": 1}, "it has rate, recordBytes"},
		{map[string]any{"fanOut": 1}, "another lab has it"},
		{map[string]any{"parallelism": 5, "maxParallelism": 4}, "knob parallelism: 5 is above maxParallelism 4"},
		{map[string]any{"exclusiveBuffers": 0, "floatingBuffers": 0}, "at least 1"},
		{map[string]any{"networkMemoryBytes": 1 << 20, "segmentBytes": 1 << 20}, "16 times segmentBytes"},
	} {
		_, err := l.With(l.Defaults(), c.given)
		var ke *KnobError
		if !errors.As(err, &ke) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: error %v, want one line that says %q", c.given, err, c.says)
		}
	}
	base, err := l.With(l.Defaults(), map[string]any{"maxParallelism": 4})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.With(base, map[string]any{"parallelism": 8}); err == nil || !strings.Contains(err.Error(), "8 is above maxParallelism 4") {
		t.Errorf("8 of 4 groups: %v", err)
	}
	v, err := l.With(base, map[string]any{"debloat": "true"})
	if err != nil {
		t.Fatal(err)
	}
	if s := v.Settings(); !s.Debloat || s.MaxParallelism != 4 || s.WorkMs != 1 || s.Rate != 20000 || s.ExclusiveBuffers != 2 {
		t.Errorf("settings %+v", s)
	}
	if base.Bool("debloat") {
		t.Error("With changed its base")
	}
}

func TestNearest(t *testing.T) {
	names := []string{"debloat", "debloatTargetMs", "debloatPeriodMs", "rate", "keys", "keyType"}
	for in, want := range map[string]string{
		"debloatt": "debloat", "DEBLOAT": "debloat", "debloat-target": "debloatTargetMs", "rat": "rate", "key": "keys", "xyz": "",
	} {
		got := ""
		if near := Nearest(in, names); len(near) > 0 {
			got = near[0]
		}
		if got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}
