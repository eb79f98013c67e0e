package labs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Script is a run with everything that is done to it: what run.json of an exercise holds, and what decides a prediction.
type Script struct {
	Lab   string         `json:"lab"`
	Knobs map[string]any `json:"knobs,omitempty"`
	Steps []Step         `json:"steps,omitempty"`
	// ForMs is how long it runs.
	ForMs int64 `json:"forMs"`
}

// Step is done to a running lab at a time: knobs are set, or an action is asked for.
type Step struct {
	AtMs   int64          `json:"atMs"` // since the start
	Set    map[string]any `json:"set,omitempty"`
	Action string         `json:"action,omitempty"`
	Args   map[string]any `json:"args,omitempty"`
	// MayFail lets the run go on when the step is refused, which is then in the record.
	MayFail bool `json:"mayFail,omitempty"`
}

// Play runs the script from begin to end and returns its record. An error is one of starting or of a step, or ctx's.
func (s *Script) Play(ctx context.Context) (*Record, error) {
	r, err := Start(StartOptions{Lab: s.Lab, Knobs: s.Knobs})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	begin := time.Now()
	steps := slices.SortedStableFunc(slices.Values(s.Steps), func(a, b Step) int { return int(a.AtMs - b.AtMs) })
	for _, step := range append(steps, Step{AtMs: s.ForMs}) {
		if err := r.waitUntil(ctx, begin.Add(time.Duration(step.AtMs)*time.Millisecond)); err != nil {
			return nil, err
		}
		var err error
		if step.Action != "" {
			_, err = r.Action(step.Action, maps.Clone(step.Args))
		}
		if err == nil && len(step.Set) > 0 {
			_, err = r.Set(step.Set)
		}
		if err != nil && !step.MayFail && !errors.Is(err, ErrEnded) {
			return nil, fmt.Errorf("at %d ms: %w", step.AtMs, err)
		}
	}
	return r.Record(), nil
}

// waitUntil waits for a time, or for the end of the job, whichever is first.
func (r *Run) waitUntil(ctx context.Context, at time.Time) error {
	t := time.NewTimer(time.Until(at))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
	case <-r.Done():
	}
	return nil
}
