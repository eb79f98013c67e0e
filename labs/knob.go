package labs

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/engine/task"
)

// The kinds of value that a knob takes.
const (
	Float = "float"
	Int   = "int"
	Bool  = "bool"
	Enum  = "enum"
)

// When a change of a knob takes effect.
const (
	Now            = "now"
	NextCheckpoint = "next checkpoint"
	Restart        = "restart" // stop with a checkpoint, restore
)

// Knob is one control of the engine. Its values are int64, float64, bool or string, by Type.
type Knob struct {
	Name    string
	Type    string
	Default any
	// Min and Max bound a number, both inclusive.
	Min, Max float64
	Unit     string
	// Values are those that an enum may have.
	Values []string
	// FlinkOption is the option of Flink 2.3 that does the same, or what Flink 1.x called it if ConstantInFlink is set;
	// empty where Flink has none.
	FlinkOption string
	TakesEffect string
	Label, Help Text
	Group       string // load job network checkpoints
	// ConstantInFlink marks what Flink 2.3 has as a constant in its code.
	ConstantInFlink bool
	// Scale of a slider: linear or log.
	Scale string
	// StartsEmpty marks a restart knob whose change makes the stored state unreadable, so that the job starts anew
	// without it.
	StartsEmpty bool

	get func(*task.Settings) any
	set func(*task.Settings, any)
}

// KnobError says which knob was given which value and what was expected.
type KnobError struct {
	Field  string
	Value  any
	Reason string
}

// Error is one line that names the knob, the value and what to give instead.
func (e *KnobError) Error() string {
	if e.Value == nil {
		return fmt.Sprintf("knob %s: %s", e.Field, e.Reason)
	}
	return fmt.Sprintf("knob %s: %s %s", e.Field, show(e.Value), e.Reason)
}

func show(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	if b, err := json.Marshal(v); err == nil {
		return string(b)
	}
	return fmt.Sprint(v)
}

// Expects says in words what the knob takes, such as "an integer from 1 to 64".
func (k *Knob) Expects() string {
	switch k.Type {
	case Bool:
		return "true or false"
	case Enum:
		return "one of " + strings.Join(k.Values, ", ")
	}
	noun := "a number"
	if k.Type == Int {
		noun = "an integer"
	}
	s := fmt.Sprintf("%s from %s to %s", noun, number(k.Min), number(k.Max))
	if k.Unit != "" {
		s += " " + k.Unit
	}
	return s
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// Parse turns a value from a command line (a string), from JSON or from Go into the knob's own kind and checks its
// range. The error is a *KnobError.
func (k *Knob) Parse(v any) (any, error) {
	switch k.Type {
	case Bool:
		switch x := v.(type) {
		case bool:
			return x, nil
		case string:
			switch strings.ToLower(strings.TrimSpace(x)) {
			case "true", "on":
				return true, nil
			case "false", "off":
				return false, nil
			}
		}
		return nil, k.wrong(v, "is not a switch")
	case Enum:
		if s, ok := v.(string); ok && slices.Contains(k.Values, s) {
			return s, nil
		}
		return nil, k.wrong(v, "is not a choice")
	}
	f, ok := asFloat(v)
	if !ok {
		return nil, k.wrong(v, "is not a number")
	}
	if k.Type == Int && f != math.Trunc(f) {
		return nil, k.wrong(v, "is not an integer")
	}
	if !(f >= k.Min && f <= k.Max) {
		return nil, k.wrong(v, "is out of range")
	}
	if k.Type == Int {
		return int64(f), nil
	}
	return f, nil
}

func (k *Knob) wrong(v any, what string) error {
	return &KnobError{Field: k.Name, Value: v, Reason: what + ": give " + k.Expects()}
}

func asFloat(v any) (float64, bool) {
	switch x := v.(type) {
	case float64:
		return x, !math.IsNaN(x)
	case float32:
		return float64(x), true
	case int:
		return float64(x), true
	case int64:
		return float64(x), true
	case int32:
		return float64(x), true
	case json.Number:
		f, err := x.Float64()
		return f, err == nil
	case string:
		// Hexadecimal, underscores and "inf" are Go's, not a learner's.
		s := strings.TrimSpace(x)
		if s == "" || strings.ContainsAny(s, "xX_pPnN") {
			return 0, false
		}
		f, err := strconv.ParseFloat(s, 64)
		return f, err == nil
	}
	return 0, false
}
