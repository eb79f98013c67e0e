package labs

import "weir/engine/metric"

// Record is what a run did, as run.weir keeps it: enough for a checker to judge without the job.
type Record struct {
	Lab   string         `json:"lab"`
	Knobs map[string]any `json:"knobs"` // at the start, all of them
	// Changes are the knobs that moved, in time order; Marks what else was done (rescale, checkpoint, a restart, …).
	Changes []KnobChange `json:"changes,omitempty"`
	// Samples are snapshots, one a second, oldest first; the last is that of the end.
	Samples []*metric.Snapshot `json:"samples"`
}
