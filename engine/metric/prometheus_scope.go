package metric

import (
	"math"
	"slices"
	"strconv"
)

// scope is whose a task's metrics are: its labels in three parts, between which those of an operator stand in Flink.
type scope struct{ job, attempt, rest labels }

func newScope(jobID, jobName string, restarts int, v *Vertex, t *Subtask) scope {
	taskID, index, attempt := FlinkID(v.ID), strconv.Itoa(t.Index), strconv.Itoa(restarts)
	return scope{
		job: labels{{"job_id", jobID}},
		attempt: labels{
			{"task_id", taskID}, {"task_attempt_id", FlinkID(jobID) + "_" + taskID + "_" + index + "_" + attempt}, {"host", ""},
		},
		rest: labels{
			{"task_name", labelValue(v.Name)}, {"task_attempt_num", attempt}, {"job_name", jobName},
			{"tm_id", taskManagerID(jobID, t.TaskManager)}, {"subtask_index", index},
		},
	}
}

// taskManagerID tells a job's task managers from those of the other jobs on this server.
func taskManagerID(jobID string, id int) string { return labelValue(jobID) + "_" + strconv.Itoa(id) }

func (s scope) task() string { return slices.Concat(s.job, s.attempt, s.rest).text() }

func (s scope) operator(id, name string) string {
	operator := labels{{"operator_id", id}, {"operator_name", labelValue(name)}}
	return slices.Concat(s.job, s.attempt, operator, s.rest).text()
}

// latency is whose the latencies from a source to the first operator of a task are.
func (s scope) latency(sourceID string, subtask int) string {
	source := labels{{"source_id", sourceID}, {"operator_subtask_index", strconv.Itoa(subtask)}}
	return slices.Concat(s.job, source, s.attempt, labels{{"operator_id", s.attempt[0].value}}, s.rest).text()
}

// watermarkOf is the last watermark that went down a task's chain.
func watermarkOf(t *Subtask) float64 {
	if t.EventTime == nil || t.EventTime.Watermark == nil { // none yet
		return math.MinInt64
	}
	return float64(*t.EventTime.Watermark)
}

// operators adds the families of each operator of a chain, the source included.
func (e *exposition) operators(v *Vertex, t *Subtask, sc scope, hasInput bool) {
	if t.Reported == nil {
		return
	}
	const operatorScope = taskScope + "_operator"
	for i, o := range t.Reported.Operators {
		id, name := FlinkID(v.ID), v.Operators[i]
		if i > 0 { // the first has the id of its task
			id = FlinkID(v.ID + " " + name)
		}
		l := sc.operator(id, name)
		g := func(metric string, value float64) { e.gauge(operatorScope, metric, l, value) }
		g("numRecordsIn", float64(o.In))
		g("numRecordsInPerSecond", o.InPerSecond)
		g("numRecordsOut", float64(o.Out))
		g("numRecordsOutPerSecond", o.OutPerSecond)
		g("currentOutputWatermark", watermarkOf(t))
		if hasInput || i > 0 {
			g("currentInputWatermark", watermarkOf(t))
		} else {
			g("sourceIdleTime", float64(t.Reported.SourceIdleMs))
		}
		if i == 0 && t.EventTime != nil && t.EventTime.Windows != nil {
			g("numLateRecordsDropped", float64(t.EventTime.Windows.NumLateRecordsDropped))
		}
	}
}

// taskManager adds the memory of a task manager.
func (e *exposition) taskManager(jobID string, m *TaskManager) {
	l := labels{{"host", ""}, {"tm_id", taskManagerID(jobID, m.ID)}}.text()
	network := func(metric string, value int64) {
		e.gauge("taskmanager_Status_Shuffle_Netty", metric, l, float64(value))
	}
	bytes, used := int64(m.SegmentBytes), m.TotalSegments-m.AvailableSegments
	network("TotalMemorySegments", m.TotalSegments)
	network("TotalMemory", m.TotalSegments*bytes)
	network("AvailableMemorySegments", m.AvailableSegments)
	network("AvailableMemory", m.AvailableSegments*bytes)
	network("UsedMemorySegments", used)
	network("UsedMemory", used*bytes)
	network("RequestedMemoryUsage", 100*m.ClaimedSegments/max(1, m.TotalSegments)) // in whole percent
	e.gauge("taskmanager_Status_Flink_Memory_Managed", "Total", l, float64(m.ManagedBytes))
	e.gauge("taskmanager_Status_Flink_Memory_Managed", "Used", l, float64(m.ManagedUsedBytes))
}
