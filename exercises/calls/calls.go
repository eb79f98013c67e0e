// Package calls judges a learner's core by calls that are written as in Go, such as Freed(3), and their answers: those of a
// script, or of the engine's own core.
package calls

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"weir/exercises/history"
	"weir/exercises/kit"
	"weir/labs"
)

// Call is one call: a name, and arguments that are numbers or words.
type Call struct {
	Name string
	Args []string
}

// New is a call; the arguments are written with fmt.Sprint.
func New(name string, args ...any) Call {
	c := Call{Name: name}
	for _, a := range args {
		c.Args = append(c.Args, fmt.Sprint(a))
	}
	return c
}

// String writes it as in Go.
func (c Call) String() string { return c.Name + "(" + strings.Join(c.Args, ", ") + ")" }

// Int is argument i as a number, 0 if it is none.
func (c Call) Int(i int) int {
	if i >= len(c.Args) {
		return 0
	}
	n, err := strconv.Atoi(c.Args[i])
	if err != nil {
		return 0
	}
	return n
}

// Bool is argument i as a bool.
func (c Call) Bool(i int) bool { return i < len(c.Args) && c.Args[i] == "true" }

// Subject is what takes the calls. An empty answer is that of a call that answers nothing, or that makes no sense now.
type Subject interface {
	Do(c Call) (answer string)
}

// Where names the place to look at, and what to try.
type Where struct{ Where, Try labs.Text }

// line is one line of a script.
type line struct {
	call  Call
	want  string
	fresh bool // a new subject begins here
}

// parse reads a script: a call a line, "= answer" behind those whose answer is judged; an empty line begins with a new
// subject. # begins a remark.
func parse(script string) (lines []line, err error) {
	fresh := true
	for _, text := range strings.Split(script, "\n") {
		text, _, _ = strings.Cut(text, "#")
		if text = strings.TrimSpace(text); text == "" {
			fresh = true
			continue
		}
		text, want, _ := strings.Cut(text, " = ")
		name, args, ok := strings.Cut(strings.TrimSuffix(strings.TrimSpace(text), ")"), "(")
		if !ok {
			return nil, fmt.Errorf("script: %q is no call", text)
		}
		l := line{call: Call{Name: name}, want: strings.TrimSpace(want), fresh: fresh}
		for _, a := range strings.Split(args, ",") {
			if a = strings.TrimSpace(a); a != "" {
				l.call.Args = append(l.call.Args, a)
			}
		}
		fresh = false
		lines = append(lines, l)
	}
	return lines, nil
}

// Script makes a check of a script. The finding shows each call so far with its answer.
func Script(script string, begin func(w *kit.Work) Subject, at Where) func(context.Context, *kit.Work, uint64) *kit.Finding {
	return func(ctx context.Context, w *kit.Work, _ uint64) *kit.Finding {
		lines, err := parse(script)
		if err != nil {
			return history.Broken(err)
		}
		var subject Subject
		var done []string
		for _, l := range lines {
			if l.fresh {
				subject, done = begin(w), nil
			}
			got := subject.Do(l.call)
			if w.Core.Err() != nil || l.want != "" && got != l.want {
				return at.finding(l.call, l.want, got, done)
			}
			if got != "" {
				got = " → " + got
			}
			done = append(done, l.call.String()+got)
		}
		return nil
	}
}

// maxShown is how many calls before a difference a finding lists.
const maxShown = 10

func (at Where) finding(c Call, want, got string, done []string) *kit.Finding {
	if got == "" {
		got = "?"
	}
	if n := len(done); n > maxShown {
		done = append([]string{"…"}, done[n-maxShown:]...)
	}
	before, zh := "", ""
	if len(done) > 0 {
		list := strings.Join(done, ", ")
		before, zh = ", after "+list, "；之前依次是 "+list
	}
	return &kit.Finding{
		Expected: labs.Text{En: fmt.Sprintf("%s → %s%s", c, want, before), Zh: fmt.Sprintf("%s → %s%s", c, want, zh)},
		Seen:     labs.Text{En: fmt.Sprintf("%s → %s", c, got), Zh: fmt.Sprintf("%s → %s", c, got)},
		Where:    at.Where, Try: at.Try,
	}
}

// Against plays a history on the engine's own core and on the learner's, and says where they first differ. The history is
// made short as long as they do.
func Against(ctx context.Context, w *kit.Work, steps []Call, model, learner func() (Subject, error), at Where) *kit.Finding {
	var broken error
	play := func(steps []Call) *history.Difference {
		m, err := model()
		if err != nil {
			broken = err
			return nil
		}
		l, err := learner()
		if err != nil {
			broken = err
			return nil
		}
		for i, c := range steps {
			want, got := m.Do(c), l.Do(c)
			if want != got {
				return &history.Difference{Step: i, Call: c.String(), Expected: want, Seen: got}
			}
		}
		return nil
	}
	f := history.Check(ctx, w, steps, play, at.Where, at.Try)
	if broken != nil {
		return history.Broken(broken)
	}
	return f
}
