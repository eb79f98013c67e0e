package trace

import (
	"fmt"
	"strconv"
	"strings"
)

// Condition limits a breakpoint to events whose fields are as it says. The zero value holds for every event.
type Condition struct{ terms []term }

type term struct {
	field, op string
	num       int64
	isNum     bool
	text      string
}

// The longer operators stand first: ">=" would else be read as ">".
var operators = []string{"==", "!=", ">=", "<=", ">", "<"}

// ParseCondition reads terms such as `channel == 1 && size >= 2048`, all of which must hold. The field "thread" is the
// event's thread; texts may stand in double quotes and compare by == and != alone. An empty text is no condition.
func ParseCondition(s string) (Condition, error) {
	var c Condition
	if strings.TrimSpace(s) == "" {
		return c, nil
	}
	for _, part := range strings.Split(s, "&&") {
		t, err := parseTerm(strings.TrimSpace(part))
		if err != nil {
			return Condition{}, err
		}
		c.terms = append(c.terms, t)
	}
	return c, nil
}

func parseTerm(s string) (term, error) {
	at, op := -1, ""
	for _, o := range operators {
		if i := strings.Index(s, o); i >= 0 && (at < 0 || i < at) {
			at, op = i, o
		}
	}
	if at < 0 {
		return term{}, fmt.Errorf("condition %q has no comparison; expected FIELD, one of == != >= <= > <, and a value", s)
	}
	t := term{field: strings.TrimSpace(s[:at]), op: op, text: strings.TrimSpace(s[at+len(op):])}
	if t.field == "" || t.text == "" {
		return term{}, fmt.Errorf("condition %q lacks a field or a value", s)
	}
	if n, err := strconv.ParseInt(t.text, 10, 64); err == nil {
		t.num, t.isNum = n, true
		return t, nil
	}
	if unquoted, err := strconv.Unquote(t.text); err == nil {
		t.text = unquoted
	}
	if op != "==" && op != "!=" {
		return term{}, fmt.Errorf("condition %q compares a text by %s; expected a whole number, or == or !=", s, op)
	}
	return t, nil
}

// Holds says whether all terms do. A term on a field that the event lacks does not, whatever its operator.
func (c Condition) Holds(e *Event) bool {
	for i := range c.terms {
		f, ok := e.Field(c.terms[i].field)
		if !ok || !c.terms[i].holds(f) {
			return false
		}
	}
	return true
}

func (t *term) holds(f Field) bool {
	if f.IsText || !t.isNum {
		return (f.String() == t.text) == (t.op == "==") && (t.op == "==" || t.op == "!=")
	}
	switch t.op {
	case "==":
		return f.Num == t.num
	case "!=":
		return f.Num != t.num
	case ">=":
		return f.Num >= t.num
	case "<=":
		return f.Num <= t.num
	case ">":
		return f.Num > t.num
	default:
		return f.Num < t.num
	}
}

// String is the condition as it can be parsed again.
func (c Condition) String() string {
	parts := make([]string, len(c.terms))
	for i, t := range c.terms {
		value := t.text
		if !t.isNum {
			value = strconv.Quote(value)
		}
		parts[i] = t.field + " " + t.op + " " + value
	}
	return strings.Join(parts, " && ")
}
