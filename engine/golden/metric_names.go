package golden

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"weir/engine/metric"
)

type metricNamesCase struct {
	Path            string   `json:"path"`
	Vertex          string   `json:"vertex"`
	Count           int      `json:"count"`
	NamesOfSubtask0 int      `json:"namesOfSubtask0"`
	Names           []string `json:"names"`
	SampleResponse  string   `json:"sampleResponse"`
}

// MetricNames replays metric_names.json: what the engine writes is listed there under its name, for the task or the
// process that has it in Flink; a back-pressured share gives the level that Flink gives it.
func MetricNames(data []byte) (Report, error) {
	ours, err := emitted()
	if err != nil {
		return Report{}, err
	}
	return replay(data, nil, func(c *metricNamesCase) error {
		switch {
		case strings.HasSuffix(c.Path, "/backpressure"):
			return c.checkBackpressure()
		case !strings.HasSuffix(c.Path, "/metrics"):
			return fmt.Errorf("unknown path %q", c.Path)
		}
		return c.checkNames(ours)
	})
}

// metricsOf are the names that the engine writes for what a path lists.
func (c *metricNamesCase) metricsOf(ours []*family) []string {
	const task = "flink_taskmanager_job_task_"
	switch {
	case strings.Contains(c.Path, "/vertices/"):
		return namesOf(ours, task, c.Vertex)
	case strings.HasPrefix(c.Path, "/jobs/"):
		return namesOf(ours, "flink_jobmanager_job_", "")
	}
	process := "flink_taskmanager_"
	if strings.HasPrefix(c.Path, "/jobmanager/") {
		process = "flink_jobmanager_"
	}
	ofJob := func(name string) bool { return strings.HasPrefix(name, "job_") }
	return slices.DeleteFunc(namesOf(ours, process, ""), ofJob)
}

func (c *metricNamesCase) checkNames(ours []*family) error {
	listed := map[string]bool{}
	for _, n := range c.Names {
		for _, operator := range strings.Split(c.Vertex, " -> ") {
			if rest, ok := strings.CutPrefix(n, inOperatorPrefix(operator)+"."); ok {
				n = "operator." + rest
			}
		}
		listed[underscored(n)] = true
	}
	names := c.metricsOf(ours)
	if c.Names != nil {
		if len(c.Names) != c.Count {
			return differs("the number of names", len(c.Names), c.Count)
		}
		for _, n := range names {
			if !listed[n] {
				return fmt.Errorf("%s has a metric %s, which is not listed", strings.TrimSpace(c.Path+" "+c.Vertex), n)
			}
		}
	}
	if c.NamesOfSubtask0 > 0 && c.Count%c.NamesOfSubtask0 != 0 {
		return fmt.Errorf("%d names are not those of some subtasks with %d each", c.Count, c.NamesOfSubtask0)
	}
	if c.SampleResponse == "" {
		return nil
	}
	var sample []struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal([]byte(c.SampleResponse), &sample); err != nil {
		return fmt.Errorf("the sample response: %w", err)
	}
	for _, s := range sample {
		name := underscored(subtaskPrefix.ReplaceAllString(s.ID, ""))
		if strings.HasPrefix(name, "Status_") {
			continue // of the process, and Java's
		}
		if !slices.Contains(names, name) {
			return fmt.Errorf("the engine has no metric %s", name)
		}
	}
	return nil
}

var (
	subtaskPrefix = regexp.MustCompile(`^[0-9]+\.`)
	// idValues are the parts of a latency histogram's name that are labels in Prometheus; statistic is what of a histogram
	// a listing names apart.
	idValues  = regexp.MustCompile(`(source_id|operator_id|operator_subtask_index)\.[^.]+`)
	statistic = regexp.MustCompile(`_(max|min|mean|median|stddev|p[0-9]+)$`)
)

// inOperatorPrefix writes an operator's name as the REST API has it before its metrics.
func inOperatorPrefix(operator string) string {
	return strings.NewReplacer(":", "_", " ", "_").Replace(operator)
}

// underscored is a name of the REST API as Prometheus's text form has it.
func underscored(name string) string {
	name = idValues.ReplaceAllString(name, "$1")
	return statistic.ReplaceAllString(strings.ReplaceAll(name, ".", "_"), "")
}

// checkBackpressure compares the levels with those of the engine for the same shares of time; the vertex has that of its
// subtask with the largest.
func (c *metricNamesCase) checkBackpressure() error {
	type level struct {
		Level  string `json:"backpressureLevel"`
		Dashed string `json:"backpressure-level"`
	}
	var answer struct {
		level
		Status   string `json:"status"`
		Subtasks []struct {
			level
			Ratio float64 `json:"ratio"`
		} `json:"subtasks"`
	}
	if err := json.Unmarshal([]byte(c.SampleResponse), &answer); err != nil {
		return fmt.Errorf("the sample response: %w", err)
	}
	if answer.Status != "ok" || len(answer.Subtasks) == 0 {
		return fmt.Errorf("the sample response has status %q and %d subtasks", answer.Status, len(answer.Subtasks))
	}
	check := func(what string, ratio float64, l level) error {
		if got := metric.BackpressureLevel(1000 * ratio); got != l.Level || got != l.Dashed {
			return differs(fmt.Sprintf("the level of %s at a share of %g", what, ratio), got, l.Level+" and "+l.Dashed)
		}
		return nil
	}
	worst := 0.0
	for i, s := range answer.Subtasks {
		if err := check(fmt.Sprintf("subtask %d", i), s.Ratio, s.level); err != nil {
			return err
		}
		worst = max(worst, s.Ratio)
	}
	return check("the vertex", worst, answer.level)
}
