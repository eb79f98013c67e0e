package trace

import (
	"encoding/json"
	"strconv"
	"time"
)

// Field is one named value of an event: a number or a text.
type Field struct {
	Name   string
	Num    int64
	Text   string
	IsText bool
}

// Int is a field with a number: a count, an index, or a size in bytes.
func Int[T ~int | ~int32 | ~int64 | ~uint8](name string, v T) Field {
	return Field{Name: name, Num: int64(v)}
}

// Str is a field with a text, which must not be a view of a buffer: events outlive those.
func Str(name, v string) Field { return Field{Name: name, Text: v, IsText: true} }

// String is the value alone.
func (f Field) String() string {
	if f.IsText {
		return f.Text
	}
	return strconv.FormatInt(f.Num, 10)
}

// Event is one hit of a tracepoint.
type Event struct {
	Seq    uint64 // counts up over all points of a tracer, from 1
	Point  Point
	Thread string        // such as "slow-map 1"
	At     time.Duration // since the tracer was made
	Fields []Field
}

// Field finds a field; "thread" and "name" answer what the event itself has.
func (e *Event) Field(name string) (Field, bool) {
	switch name {
	case "thread":
		return Str(name, e.Thread), true
	case "name":
		return Str(name, e.Point.String()), true
	}
	for _, f := range e.Fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// MarshalJSON writes {"seq", "name", "thread", "timeMs", "fields": {…}} with the fields in their order.
func (e Event) MarshalJSON() ([]byte, error) {
	b := append([]byte(nil), `{"seq":`...)
	b = strconv.AppendUint(b, e.Seq, 10)
	b = append(b, `,"name":`...)
	b = appendText(b, e.Point.String())
	b = append(b, `,"thread":`...)
	b = appendText(b, e.Thread)
	b = append(b, `,"timeMs":`...)
	b = strconv.AppendFloat(b, float64(e.At)/float64(time.Millisecond), 'f', 3, 64)
	b = append(b, `,"fields":{`...)
	for i, f := range e.Fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, f.Name), ':')
		if f.IsText {
			b = appendText(b, f.Text)
		} else {
			b = strconv.AppendInt(b, f.Num, 10)
		}
	}
	return append(b, "}}"...), nil
}

func appendText(b []byte, s string) []byte {
	quoted, err := json.Marshal(s)
	if err != nil { // a string always marshals
		return append(b, `""`...)
	}
	return append(b, quoted...)
}

// ringEvents is how many of the last events each point keeps.
const ringEvents = 256

// ring keeps the last events of one point. Each point has its own, so that a busy one cannot push out a rare one.
type ring struct {
	events []Event // at most ringEvents; the oldest at next once it is full
	next   int
}

func (r *ring) add(e Event) {
	if len(r.events) < ringEvents {
		r.events = append(r.events, e)
		return
	}
	r.events[r.next] = e
	r.next = (r.next + 1) % ringEvents
}

// after appends the events above seq.
func (r *ring) after(seq uint64, to []Event) []Event {
	for _, e := range r.events {
		if e.Seq > seq {
			to = append(to, e)
		}
	}
	return to
}
