package labs

import (
	"runtime/debug"

	"weir/engine/metric"
)

// flinkVersion is the one that the engine follows.
const flinkVersion = "2.3.0"

// Record is what a run did, as run.weir keeps it: enough for a checker to judge without the job. Times are job times in ms,
// as in a Snapshot. It covers the last ten minutes; see Bounds of a record in record_keep.go.
type Record struct {
	// Engine is the version that ran it.
	Engine string `json:"engine"`
	Lab    string `json:"lab"`
	// Input is the name of the file that the records came from; empty is the generator.
	Input string `json:"input,omitempty"`
	// Restored tells that the job began with the state of a checkpoint.
	Restored bool `json:"restored,omitempty"`
	// Knobs are all of them at the start.
	Knobs map[string]any `json:"knobs"`
	// Changes are the knobs that moved, in time order.
	Changes []KnobChange `json:"changes,omitempty"`
	// Marks are what else happened, in time order.
	Marks []Mark `json:"marks,omitempty"`
	// Checkpoints are all that were seen, oldest first, each as it was seen last.
	Checkpoints []metric.Checkpoint `json:"checkpoints,omitempty"`
	// Samples are snapshots, one a second, oldest first; the last is that of the end, or of now. They leave out what stands
	// elsewhere in the record (knobs, checkpoints) and what no judge reads (the fill of each buffer).
	Samples []*metric.Snapshot `json:"samples"`
	// Forgotten counts the changes and marks that were dropped because there were too many.
	Forgotten int `json:"forgotten,omitempty"`
}

// The kinds of mark.
const (
	MarkAction  = "action"  // something was asked of the job; Name says what
	MarkRestart = "restart" // the job restarted with its state: for a knob, when asked to, or after a failure that Text names
	MarkAnew    = "anew"    // the job was ended and another one began without its state
	MarkRefused = "refused" // a change of the knob Name was refused; Text says why
	MarkFailure = "failure" // the job failed; Text says why
	MarkEnd     = "end"     // the job ended; Name is its state
)

// Mark is a moment of a run that is no change of a knob.
type Mark struct {
	AtMs int64  `json:"atMs"`
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"`
	Text string `json:"text,omitempty"`
}

// EngineVersion names the engine, as it stands in records and in the results of checks.
func EngineVersion() string {
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			version = info.Main.Version
		}
		for _, b := range info.Settings {
			if b.Key == "vcs.revision" {
				version += " " + b.Value[:min(12, len(b.Value))]
			}
		}
	}
	return "weir " + version + ", after Apache Flink " + flinkVersion
}

// ValuesAt returns the knobs as they were at a job time: those of the start and every change up to then.
func (r *Record) ValuesAt(ms int64) Values {
	v := Values(r.Knobs).Clone()
	for _, c := range r.Changes {
		if c.AtMs <= ms {
			v[c.Name] = c.To
		}
	}
	return v
}

// Last returns the newest sample, nil without any.
func (r *Record) Last() *metric.Snapshot {
	if n := len(r.Samples); n > 0 {
		return r.Samples[n-1]
	}
	return nil
}
