package runner

import (
	"context"

	"weir/labs"
)

// runMs is how long a lab runs for a check that wants to see it.
const runMs = 30_000

// RunLab runs a lab now, in real time, and answers its record.
func RunLab(ctx context.Context, lab string, knobs map[string]any) (*labs.Record, error) {
	return (&labs.Script{Lab: lab, Knobs: knobs, ForMs: runMs}).Play(ctx)
}
