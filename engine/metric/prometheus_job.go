package metric

import (
	"math"
	"strconv"
)

// job adds one job's families: those of the job manager and those of each task.
func (e *exposition) job(j *JobReadings) {
	s := j.Snapshot
	name, host := j.Name, j.Host
	if name == "" {
		name = s.Lab
	}
	if host == "" {
		host = "localhost"
	}
	name = labelValue(name)
	l := labels{{"job_id", j.ID}, {"host", host}, {"job_name", name}}
	const scope = "jobmanager_job"
	e.gauge(scope, "uptime", l, float64(s.TimeMs))
	e.gauge(scope, "numRestarts", l, float64(s.Restarts))
	e.checkpoints(j, scope, l)

	queues := queuesOf(s)
	alignments := lastAlignments(s)
	for i := range s.Vertices {
		v := &s.Vertices[i]
		taskID := FlinkID(v.ID)
		for k := range v.Subtasks {
			t := &v.Subtasks[k]
			index := strconv.Itoa(t.Index)
			attempt := strconv.Itoa(s.Restarts)
			l := labels{
				{"job_id", j.ID}, {"task_id", taskID},
				{"task_attempt_id", FlinkID(j.ID) + "_" + taskID + "_" + index + "_" + attempt},
				{"host", ""}, {"task_name", labelValue(v.Name)}, {"task_attempt_num", attempt}, {"job_name", name},
				{"tm_id", "taskmanager_" + strconv.Itoa(t.TaskManager)}, {"subtask_index", index},
			}
			end := End{Vertex: v.ID, Subtask: t.Index}
			q := queues[end]
			e.task(t, l)
			e.buffers(t, l, q)
			if q.hasInput {
				e.watermark(t, l)
			}
			if a, ok := alignments[end]; ok {
				if q.hasInput {
					e.gauge(taskScope, "checkpointAlignmentTime", l, math.Round(a.AlignmentMs*1e6))
				}
				e.gauge(taskScope, "checkpointStartDelayNanos", l, math.Round(a.StartDelayMs*1e6))
			}
			if t.LatencyMs != nil {
				e.latency(t, j.ID, name, FlinkID(s.Vertices[0].ID), taskID, l)
			}
		}
	}
}

// checkpoints adds what the coordinator knows. The counts need CheckpointCounts: the history alone is too short.
func (e *exposition) checkpoints(j *JobReadings, scope string, l labels) {
	s := j.Snapshot
	if c := s.CheckpointCounts; c != nil {
		e.gauge(scope, "totalNumberOfCheckpoints", l, float64(c.Total))
		e.gauge(scope, "numberOfInProgressCheckpoints", l, float64(c.InProgress))
		e.gauge(scope, "numberOfCompletedCheckpoints", l, float64(c.Completed))
		e.gauge(scope, "numberOfFailedCheckpoints", l, float64(c.Failed))
	}
	for i := range s.Checkpoints {
		c := &s.Checkpoints[i]
		if c.Status != "COMPLETED" {
			continue
		}
		e.gauge(scope, "lastCompletedCheckpointId", l, float64(c.ID))
		e.gauge(scope, "lastCheckpointDuration", l, float64(c.EndToEndDurationMs))
		e.gauge(scope, "lastCheckpointSize", l, float64(c.CheckpointedBytes))
		e.gauge(scope, "lastCheckpointFullSize", l, float64(c.StateBytes))
		e.gauge(scope, "lastCheckpointProcessedData", l, float64(c.ProcessedBytes))
		e.gauge(scope, "lastCheckpointPersistedData", l, float64(c.PersistedBytes))
		if j.StartedAtMs > 0 {
			e.gauge(scope, "lastCheckpointCompletedTimestamp", l, float64(j.StartedAtMs+c.TriggerMs+c.EndToEndDurationMs))
		}
		return
	}
}

const taskScope = "taskmanager_job_task"

// task adds the times, records and rates of a task.
func (e *exposition) task(t *Subtask, l labels) {
	g := func(metric string, value float64) { e.gauge(taskScope, metric, l, value) }
	backPressured := 0.0
	if t.IsBackPressured {
		backPressured = 1
	}
	g("isBackPressured", backPressured)
	g("busyTimeMsPerSecond", t.Busy)
	g("idleTimeMsPerSecond", t.Idle)
	g("backPressuredTimeMsPerSecond", t.BackPressured)
	g("softBackPressuredTimeMsPerSecond", t.SoftBackPressured)
	g("hardBackPressuredTimeMsPerSecond", t.HardBackPressured)
	if a := t.Accumulated; a != nil {
		g("accumulateBusyTimeMs", float64(a.Busy))
		g("accumulateIdleTimeMs", float64(a.Idle))
		g("accumulateBackPressuredTimeMs", float64(a.BackPressured))
		g("maxSoftBackPressureTimeMs", float64(a.MaxSoftMs))
		g("maxHardBackPressureTimeMs", float64(a.MaxHardMs))
	}
	g("numRecordsIn", float64(t.NumRecordsIn))
	g("numRecordsInPerSecond", t.Rates.NumRecordsIn)
	g("numRecordsOut", float64(t.NumRecordsOut))
	g("numRecordsOutPerSecond", t.Rates.NumRecordsOut)
	g("numBytesIn", float64(t.NumBytesIn))
	g("numBytesOut", float64(t.NumBytesOut))
	g("numBytesOutPerSecond", t.Rates.NumBytesOut)
	g("numBuffersOut", float64(t.NumBuffersOut))
	g("numBuffersOutPerSecond", t.Rates.NumBuffersOut)
	g("mailboxQueueSize", float64(t.MailboxQueueSize))
	if t.DebloatedBufferSize > 0 {
		g("estimatedTimeToConsumeBuffersMs", float64(t.EstimatedTimeToConsumeBuffers))
	}
}

// watermark adds what a task with an input knows of event time.
func (e *exposition) watermark(t *Subtask, l labels) {
	watermark := float64(t.CurrentInputWatermark)
	if t.CurrentInputWatermark == 0 { // none yet
		watermark = math.MinInt64
	}
	e.gauge(taskScope, "currentInputWatermark", l, watermark)
	if t.EventTime != nil && t.EventTime.Windows != nil {
		e.gauge(taskScope+"_operator", "numLateRecordsDropped", l, float64(t.EventTime.Windows.NumLateRecordsDropped))
	}
}

// buffers adds the Shuffle_Netty families, and those of them that a task has under its own name as well.
func (e *exposition) buffers(t *Subtask, l labels, q queue) {
	const (
		in         = taskScope + "_Shuffle_Netty_Input"
		inBuffers  = in + "_Buffers"
		outBuffers = taskScope + "_Shuffle_Netty_Output_Buffers"
	)
	for _, scope := range []string{taskScope, in} {
		e.gauge(scope, "numBuffersInLocal", l, float64(t.NumBuffersInLocal))
		e.gauge(scope, "numBuffersInLocalPerSecond", l, t.Rates.NumBuffersInLocal)
		e.gauge(scope, "numBuffersInRemote", l, float64(t.NumBuffersInRemote))
		e.gauge(scope, "numBuffersInRemotePerSecond", l, t.Rates.NumBuffersInRemote)
		e.gauge(scope, "numBytesInLocal", l, float64(t.NumBytesInLocal))
		e.gauge(scope, "numBytesInRemote", l, float64(t.NumBytesInRemote))
	}
	e.gauge(inBuffers, "inPoolUsage", l, t.InPoolUsage)
	e.gauge(inBuffers, "inputExclusiveBuffersUsage", l, t.InputExclusiveBuffersUsage)
	e.gauge(inBuffers, "inputFloatingBuffersUsage", l, t.InputFloatingBuffersUsage)
	e.gauge(inBuffers, "inputQueueLength", l, float64(q.inLength))
	e.gauge(inBuffers, "inputQueueSize", l, float64(q.inBytes))
	e.gauge(outBuffers, "outPoolUsage", l, t.OutPoolUsage)
	e.gauge(outBuffers, "outputQueueLength", l, float64(q.outLength))
	e.gauge(outBuffers, "outputQueueSize", l, float64(q.outBytes))
	if t.DebloatedBufferSize > 0 {
		e.gauge(in+"_0", "debloatedBufferSize", l, float64(t.DebloatedBufferSize))
		e.gauge(in+"_0", "estimatedTimeToConsumeBuffersMs", l, float64(t.EstimatedTimeToConsumeBuffers))
	}
}

// latency adds the histogram of latency markers, whose labels stand in another order in Flink.
func (e *exposition) latency(t *Subtask, jobID, jobName, sourceID, operatorID string, task labels) {
	get := func(name string) label {
		for _, x := range task {
			if x.name == name {
				return x
			}
		}
		return label{name, ""}
	}
	l := labels{
		{"job_id", jobID}, {"source_id", sourceID}, {"operator_subtask_index", strconv.Itoa(t.Index)},
		get("task_id"), get("task_attempt_id"), get("host"), {"operator_id", operatorID}, get("task_name"),
		get("task_attempt_num"), {"job_name", jobName}, get("tm_id"), get("subtask_index"),
	}
	e.summary(taskScope+"_latency_source_id_operator_id_operator_subtask_index", "latency", l, t.LatencyMs.Count,
		quantile{"0.5", t.LatencyMs.P50}, quantile{"0.95", t.LatencyMs.P95}, quantile{"0.99", t.LatencyMs.P99})
}

// queue is what waits at a task's gates and in its partitions.
type queue struct {
	inLength, inBytes, outLength, outBytes int64

	hasInput bool // a source has no alignment and no watermark that comes in
}

// queuesOf sums the channels by task. A local channel owns no buffers: its input queue is the producer's.
func queuesOf(s *Snapshot) map[End]queue {
	queues := map[End]queue{}
	for i := range s.Channels {
		c := &s.Channels[i]
		length := max(int64(c.Producer.Buffers), int64(len(c.Producer.Fill)))
		from := queues[c.From]
		from.outLength += length
		from.outBytes += c.Producer.Bytes
		queues[c.From] = from

		to := queues[c.To]
		to.hasInput = true
		switch {
		case c.Kind == "local":
			to.inLength += length
			to.inBytes += c.Producer.Bytes
		case c.Consumer != nil:
			to.inLength += int64(c.Consumer.Queued)
			to.inBytes += c.Consumer.QueuedBytes
		}
		queues[c.To] = to
	}
	return queues
}

// lastAlignments finds each subtask's part in the newest checkpoint that it acknowledged.
func lastAlignments(s *Snapshot) map[End]*SubtaskCheckpoint {
	found := map[End]*SubtaskCheckpoint{}
	for i := range s.Checkpoints {
		for k := range s.Checkpoints[i].Subtasks {
			c := &s.Checkpoints[i].Subtasks[k]
			end := End{Vertex: c.Vertex, Subtask: c.Subtask}
			if c.Acknowledged && found[end] == nil {
				found[end] = c
			}
		}
	}
	return found
}
