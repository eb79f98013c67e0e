package golden

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"weir/engine/metric"
)

// family is one metric in Prometheus's text form.
type family struct {
	name, help, kind string
	// samples are the names of the samples, each with its label names in order.
	samples map[string]bool
	// tasks are the values of the label task_name.
	tasks map[string]bool
}

var (
	sampleForm = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)\{(.*)\} (\S+)$`)
	labelForm  = regexp.MustCompile(`([a-z_]+)="((?:[^"\\]|\\.)*)",`)
)

// parseExposition reads Prometheus's text form as far as Flink's reporter writes it: HELP, TYPE, then the samples.
func parseExposition(text string) (families []*family, byName map[string]*family, err error) {
	byName = map[string]*family{}
	var current *family
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		wrong := func(what string) error { return fmt.Errorf("line %d %q: %s", i+1, line, what) }
		if rest, ok := strings.CutPrefix(line, "# HELP "); ok {
			name, help, _ := strings.Cut(rest, " ")
			if byName[name] != nil {
				return nil, nil, wrong("the family stands twice")
			}
			current = &family{name: name, help: help, samples: map[string]bool{}, tasks: map[string]bool{}}
			byName[name] = current
			families = append(families, current)
			continue
		}
		if current == nil {
			return nil, nil, wrong("expected HELP")
		}
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(rest, " ")
			if name != current.name {
				return nil, nil, wrong("the TYPE of another family than the HELP before")
			}
			current.kind = kind
			continue
		}
		m := sampleForm.FindStringSubmatch(line)
		if m == nil || !strings.HasPrefix(m[1], current.name) {
			return nil, nil, wrong("no sample of family " + current.name)
		}
		names := m[1]
		for _, l := range labelForm.FindAllStringSubmatch(m[2], -1) {
			names += " " + l[1]
			if l[1] == "task_name" {
				current.tasks[l[2]] = true
			}
		}
		current.samples[names] = true
	}
	return families, byName, nil
}

// PrometheusExposition replays prometheus_exposition.txt: every family that the engine writes must be in the file, with
// its type, its help and its labels. A case is a family that the engine writes. The values are of another run.
func PrometheusExposition(data []byte) (Report, error) {
	_, flink, err := parseExposition(string(data))
	if err != nil {
		return Report{}, fmt.Errorf("exposition: %w", err)
	}
	ours, err := emitted()
	if err != nil {
		return Report{}, err
	}
	var report Report
	for i, f := range ours {
		report.check(i, []byte(f.name), f.check(flink[f.name]))
	}
	return report, nil
}

func (f *family) check(want *family) error {
	switch {
	case want == nil:
		return fmt.Errorf("the file has no family %s", f.name)
	case f.kind != want.kind:
		return differs("the type", f.kind, want.kind)
	case f.help != want.help:
		return differs("the help", f.help, want.help)
	}
	for s := range f.samples {
		if !want.samples[s] {
			return fmt.Errorf("the file has no sample %s", s)
		}
	}
	return nil
}

// The vertices of the job whose metrics the golden files list.
const (
	sourceVertex = "Source: source"
	slowVertex   = "slow-map -> discard: Writer"
)

// emitted is all that the engine writes for a job that has a reading of every sort.
func emitted() ([]*family, error) {
	var b strings.Builder
	if err := metric.Prometheus(&b, []metric.JobReadings{{ID: metric.FlinkID("job"), Name: "MetricNames", Snapshot: sample()}}); err != nil {
		return nil, err
	}
	families, _, err := parseExposition(b.String())
	return families, err
}

// sample is a snapshot of the job with every reading that Prometheus's text form may hold.
func sample() *metric.Snapshot {
	s := &metric.Snapshot{
		State: "RUNNING", CheckpointCounts: &metric.CheckpointCounts{Total: 1, Completed: 1},
		Checkpoints:  []metric.Checkpoint{{ID: 1, Status: "COMPLETED"}},
		TaskManagers: []metric.TaskManager{{ID: 0}, {ID: 1}},
	}
	ids := map[string]string{sourceVertex: "source", slowVertex: "slow-map"}
	for _, name := range []string{sourceVertex, slowVertex} {
		v := metric.Vertex{ID: ids[name], Name: name, Parallelism: 2, Operators: strings.Split(name, " -> ")}
		for i := range 2 {
			t := metric.Subtask{Index: i, TaskManager: i, Accumulated: &metric.Accumulated{},
				Reported: &metric.Reported{Operators: make([]metric.OperatorRecords, len(v.Operators))}}
			if name == slowVertex {
				t.DebloatedBufferSize, t.LatencyMs = 4096, &metric.Latency{Count: 1}
			}
			v.Subtasks = append(v.Subtasks, t)
			s.Checkpoints[0].Subtasks = append(s.Checkpoints[0].Subtasks, metric.SubtaskCheckpoint{Vertex: v.ID, Subtask: i, Acknowledged: true})
			for to := range 2 {
				if name == sourceVertex {
					s.Channels = append(s.Channels, metric.Channel{From: metric.End{Vertex: "source", Subtask: i},
						To: metric.End{Vertex: "slow-map", Subtask: to}, Kind: "remote", Consumer: &metric.ConsumerEnd{}})
				}
			}
		}
		s.Vertices = append(s.Vertices, v)
	}
	return s
}

// namesOf are the metrics among the families that have the prefix, without it; with a task only those of that task.
func namesOf(families []*family, prefix, task string) []string {
	var names []string
	for _, f := range families {
		if name, ok := strings.CutPrefix(f.name, prefix); ok && (task == "" || f.tasks[inLabel(task)]) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// inLabel writes a name as Flink's reporter puts it into a label.
func inLabel(name string) string { return notInLabel.ReplaceAllString(name, "_") }

var notInLabel = regexp.MustCompile(`[^a-zA-Z0-9:_]`)
