package labs

import (
	"sync"

	"weir/engine/task"
)

// registry has each knob once, in the order in which a page shows them.
var registry = sync.OnceValue(func() []*Knob {
	var all []*Knob
	for _, group := range [][]Knob{loadKnobs(), jobKnobs(), networkKnobs(), checkpointKnobs(), stateKnobs(), eventTimeKnobs(), valueKnobs()} {
		for i := range group {
			all = append(all, &group[i])
		}
	}
	d := task.Defaults()
	for _, k := range all {
		k.Default = k.get(&d)
		if k.Scale == "" && (k.Type == Int || k.Type == Float) {
			k.Scale = "linear"
		}
	}
	return all
})

// knobByName finds a knob of the registry.
func knobByName(name string) (*Knob, bool) {
	for _, k := range registry() {
		if k.Name == name {
			return k, true
		}
	}
	return nil, false
}

// The four makers below join a knob to its field of task.Settings.

func intKnob(k Knob, field func(*task.Settings) *int) Knob {
	k.Type = Int
	k.get = func(s *task.Settings) any { return int64(*field(s)) }
	k.set = func(s *task.Settings, v any) { *field(s) = int(v.(int64)) }
	return k
}

func longKnob(k Knob, field func(*task.Settings) *int64) Knob {
	k.Type = Int
	k.get = func(s *task.Settings) any { return *field(s) }
	k.set = func(s *task.Settings, v any) { *field(s) = v.(int64) }
	return k
}

func floatKnob(k Knob, field func(*task.Settings) *float64) Knob {
	k.Type = Float
	k.get = func(s *task.Settings) any { return *field(s) }
	k.set = func(s *task.Settings, v any) { *field(s) = v.(float64) }
	return k
}

func boolKnob(k Knob, field func(*task.Settings) *bool) Knob {
	k.Type = Bool
	k.get = func(s *task.Settings) any { return *field(s) }
	k.set = func(s *task.Settings, v any) { *field(s) = v.(bool) }
	return k
}

func enumKnob(k Knob, field func(*task.Settings) *string) Knob {
	k.Type = Enum
	k.get = func(s *task.Settings) any { return *field(s) }
	k.set = func(s *task.Settings, v any) { *field(s) = v.(string) }
	return k
}
