// Package history plays calls against a learner's core and against a model of it, names the first difference, and makes a
// history that shows one as short as it can.
package history

import (
	"context"
	"fmt"
	"strings"

	"weir/exercises/kit"
	"weir/labs"
)

// Difference is the first answer of a core that is not the model's.
type Difference struct {
	// Step counts from 0; Call is what was called, as a learner would write it.
	Step           int
	Call           string
	Expected, Seen string
	// Where and Try may say more than those of the check.
	Where, Try labs.Text
}

// Play plays steps from the beginning, on a core that has seen nothing yet, and gives the first difference, nil if there is
// none.
type Play[S fmt.Stringer] func(steps []S) *Difference

// Check plays steps and says what is wrong, with the history made short. Where and try go into the finding.
func Check[S fmt.Stringer](ctx context.Context, w *kit.Work, steps []S, play Play[S], where, try labs.Text) *kit.Finding {
	d := play(steps)
	if d == nil {
		return nil
	}
	if w.Core.Err() == nil {
		steps, d = shorten(ctx, w, steps, d, play)
	}
	before := make([]string, 0, d.Step)
	for _, s := range steps[:min(d.Step, len(steps))] {
		before = append(before, s.String())
	}
	return d.finding(before, where, try)
}

// maxShown is how many steps before the difference a finding lists.
const maxShown = 12

func (d *Difference) finding(before []string, where, try labs.Text) *kit.Finding {
	if d.Where.En != "" {
		where = d.Where
	}
	if d.Try.En != "" {
		try = d.Try
	}
	seen := labs.Text{En: fmt.Sprintf("%s gives %s", d.Call, d.Seen), Zh: fmt.Sprintf("%s 得到 %s", d.Call, d.Seen)}
	if n := len(before); n > 0 {
		list := strings.Join(before[max(0, n-maxShown):], "; ")
		if n > maxShown {
			list = "…; " + list
		}
		seen.En += fmt.Sprintf(", after %s", list)
		seen.Zh += fmt.Sprintf("；之前依次执行了：%s", list)
	}
	return &kit.Finding{
		Expected: labs.Text{En: fmt.Sprintf("%s gives %s", d.Call, d.Expected), Zh: fmt.Sprintf("%s 得到 %s", d.Call, d.Expected)},
		Seen:     seen, Where: where, Try: try,
	}
}

// Finding is what a check says of a difference that has no history.
func (d *Difference) Finding(where, try labs.Text) *kit.Finding { return d.finding(nil, where, try) }

// maxTries bounds how often a history is played again to make it short.
const maxTries = 200

// shorten leaves out steps, first many at a time, as long as a difference stays.
func shorten[S fmt.Stringer](ctx context.Context, w *kit.Work, steps []S, d *Difference, play Play[S]) ([]S, *Difference) {
	steps = steps[:min(d.Step+1, len(steps))]
	tries := 0
	for size := len(steps) / 2; size >= 1; {
		shorter := false
		for at := 0; at+size <= len(steps) && tries < maxTries && ctx.Err() == nil; {
			tries++
			fewer := append(append([]S(nil), steps[:at]...), steps[at+size:]...)
			found := play(fewer)
			if w.Core.Err() != nil {
				return steps, d
			}
			if found == nil {
				at += size
				continue
			}
			steps, d, shorter = fewer[:min(found.Step+1, len(fewer))], found, true
		}
		if !shorter || size > len(steps) {
			size /= 2
		}
		if tries >= maxTries {
			break
		}
	}
	return steps, d
}
