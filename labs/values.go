package labs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir/engine/task"
)

// Values are the values of a lab's knobs by name, each of its knob's own kind (int64, float64, bool, string).
type Values map[string]any

// Clone returns a copy.
func (v Values) Clone() Values { return maps.Clone(v) }

// Int returns the value of an integer knob; 0 if the lab does not have it.
func (v Values) Int(name string) int {
	n, _ := v[name].(int64)
	return int(n)
}

// Float returns the value of a number knob; 0 if the lab does not have it.
func (v Values) Float(name string) float64 {
	switch n := v[name].(type) {
	case float64:
		return n
	case int64:
		return float64(n)
	}
	return 0
}

// Bool returns the value of a switch; false if the lab does not have it.
func (v Values) Bool(name string) bool {
	b, _ := v[name].(bool)
	return b
}

// String returns the value of a choice; "" if the lab does not have it.
func (v Values) String(name string) string {
	s, _ := v[name].(string)
	return s
}

// Settings returns the engine's settings: the lab's knobs over Flink's defaults.
func (v Values) Settings() task.Settings {
	s := task.Defaults()
	for name, value := range v {
		if k, ok := knobByName(name); ok {
			k.set(&s, value)
		}
	}
	return s
}

// Knob finds a knob of the lab.
func (l *Lab) Knob(name string) (*Knob, bool) {
	for i := range l.Knobs {
		if l.Knobs[i].Name == name {
			return &l.Knobs[i], true
		}
	}
	return nil, false
}

// Defaults are the values that the lab starts with.
func (l *Lab) Defaults() Values {
	v := make(Values, len(l.Knobs))
	for i := range l.Knobs {
		v[l.Knobs[i].Name] = l.Knobs[i].Default
	}
	return v
}

// With returns base with the given knobs set, or a *KnobError that names the first knob, in the order of names, that
// the lab does not have or whose value it refuses. Values may be strings, as a command line has them, or of JSON's kinds.
func (l *Lab) With(base Values, given map[string]any) (Values, error) {
	v := base.Clone()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		k, ok := l.Knob(name)
		if !ok {
			return nil, l.unknownKnob(name)
		}
		parsed, err := k.Parse(given[name])
		if err != nil {
			return nil, err
		}
		v[name] = parsed
	}
	return v, v.check(given)
}

func (l *Lab) unknownKnob(name string) error {
	names := make([]string, len(l.Knobs))
	for i := range l.Knobs {
		names[i] = l.Knobs[i].Name
	}
	e := &KnobError{Field: name, Reason: "lab " + l.ID + " has no such knob; "}
	switch near := Nearest(name, names); {
	case len(near) > 0:
		e.Reason += "did you mean " + strings.Join(near, " or ") + "?"
	default:
		if _, elsewhere := knobByName(name); elsewhere {
			e.Reason += "another lab has it; "
		}
		e.Reason += "it has " + strings.Join(names, ", ")
	}
	return e
}

// check holds the knobs against each other. The error names a knob that was given, where there is a choice.
func (v Values) check(given map[string]any) error {
	blame := func(names ...string) (string, any) {
		for _, n := range names {
			if _, ok := given[n]; ok {
				return n, v[n]
			}
		}
		return names[0], v[names[0]]
	}
	if m, p := v.Int("maxParallelism"), v.Int("parallelism"); m > 0 && p > m {
		field, value := blame("parallelism", "maxParallelism")
		if field == "parallelism" {
			return &KnobError{field, value, fmt.Sprintf("is above maxParallelism %d: there are only as many key groups; give 1 to %d, or raise maxParallelism", m, m)}
		}
		return &KnobError{field, value, fmt.Sprintf("is below parallelism %d: each subtask needs a key group; give %d to %d, or 0 to derive it", p, p, maxParallelismBound)}
	}
	if _, has := v["exclusiveBuffers"]; has && v.Int("exclusiveBuffers") == 0 && v.Int("floatingBuffers") == 0 {
		field, value := blame("floatingBuffers", "exclusiveBuffers")
		return &KnobError{field, value, "leaves a remote channel without any buffer: give exclusiveBuffers or floatingBuffers at least 1"}
	}
	if seg, mem := v.Int("segmentBytes"), v.Int("networkMemoryBytes"); seg > 0 && mem > 0 && mem/seg < 16 {
		field, value := blame("networkMemoryBytes", "segmentBytes")
		return &KnobError{field, value, fmt.Sprintf("makes only %d buffers of %d bytes a task manager: give networkMemoryBytes at least 16 times segmentBytes", mem/seg, seg)}
	}
	return nil
}
