package metric

import "math"

// Left out are the families that have nothing here to tell of: those of Java's machine (Status_JVM), slots, the changelog,
// the states of a job that no job of this engine is in, the enumerator of splits, the times of single splits, and what
// connectors count of bytes and errors outside.

// job adds one job's families: those of the job manager, of each task and of each task manager.
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
	l := labels{{"job_id", j.ID}, {"host", host}, {"job_name", name}}.text()
	e.life(&s.Life, s.Restarts, l)
	e.checkpoints(s, l)

	queues := queuesOf(s)
	alignments := lastAlignments(s)
	for i := range s.Vertices {
		v := &s.Vertices[i]
		for k := range v.Subtasks {
			t := &v.Subtasks[k]
			sc := newScope(j.ID, name, s.Restarts, v, t)
			l := sc.task()
			end := End{Vertex: v.ID, Subtask: t.Index}
			q := queues[end]
			e.task(t, l)
			e.buffers(t, l, q)
			if q.hasInput {
				e.gauge(taskScope, "currentInputWatermark", l, watermarkOf(t))
			}
			if a, ok := alignments[end]; ok {
				if q.hasInput {
					e.gauge(taskScope, "checkpointAlignmentTime", l, math.Round(a.AlignmentMs*1e6))
				}
				e.gauge(taskScope, "checkpointStartDelayNanos", l, math.Round(a.StartDelayMs*1e6))
			}
			if t.LatencyMs != nil {
				e.summary(taskScope+"_latency_source_id_operator_id_operator_subtask_index", "latency",
					sc.latency(FlinkID(s.Vertices[0].ID), t.Index), t.LatencyMs)
			}
			e.operators(v, t, sc, q.hasInput)
		}
	}
	for i := range s.TaskManagers {
		e.taskManager(j.ID, &s.TaskManagers[i])
	}
}

const jobScope = "jobmanager_job"

// life adds how the job fares.
func (e *exposition) life(f *Life, restarts int, l string) {
	g := func(metric string, value int64) { e.gauge(jobScope, metric, l, float64(value)) }
	g("uptime", f.RunningMs)
	g("downtime", f.RestartingMs)
	g("runningTime", f.RunningMs)
	g("restartingTime", f.RestartingMs)
	g("allSubTasksRunningOrFinishedTime", f.AllRunningMs)
	g("numRestarts", int64(restarts))
	g("numRescales", f.Rescales)
}

// checkpoints adds what the coordinator knows. The counts need CheckpointCounts: the history alone is too short.
func (e *exposition) checkpoints(s *Snapshot, l string) {
	g := func(metric string, value int64) { e.gauge(jobScope, metric, l, float64(value)) }
	if c := s.CheckpointCounts; c != nil {
		g("totalNumberOfCheckpoints", c.Total)
		g("numberOfInProgressCheckpoints", c.InProgress)
		g("numberOfCompletedCheckpoints", c.Completed)
		g("numberOfFailedCheckpoints", c.Failed)
	}
	restored := s.Life.RestoredAtMs
	if restored == 0 {
		restored = -1
	}
	g("lastCheckpointRestoreTimestamp", restored)
	c := s.Life.LastCompleted
	if c == nil { // Flink writes -1 for each until there is one
		c = &LastCheckpoint{CompletedAtMs: -1, MetadataBytes: -1,
			Checkpoint: Checkpoint{ID: -1, EndToEndDurationMs: -1, CheckpointedBytes: -1, StateBytes: -1, ProcessedBytes: -1, PersistedBytes: -1}}
	}
	g("lastCompletedCheckpointId", c.ID)
	g("lastCheckpointDuration", c.EndToEndDurationMs)
	g("lastCheckpointSize", c.CheckpointedBytes)
	g("lastCheckpointFullSize", c.StateBytes)
	g("lastCheckpointMetadataSize", c.MetadataBytes)
	g("lastCheckpointProcessedData", c.ProcessedBytes)
	g("lastCheckpointPersistedData", c.PersistedBytes)
	g("lastCheckpointCompletedTimestamp", c.CompletedAtMs)
	g("lastCheckpointExternalPath", 0) // a text, for which Flink's reporter writes 0
}

const taskScope = "taskmanager_job_task"

// task adds the times, records and rates of a task.
func (e *exposition) task(t *Subtask, l string) {
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
	if r := t.Reported; r != nil {
		g("numBytesInPerSecond", r.NumBytesInLocal+r.NumBytesInRemote)
		g("mailboxMailsPerSecond", r.NumMails)
		g("numFiredTimers", float64(r.NumFiredTimers))
		g("numFiredTimersPerSecond", r.NumFiredTimersPerSecond)
		g("initializationTime", float64(r.InitializationMs))
		e.summary(taskScope, "mailboxLatencyMs", l, &r.MailboxLatency)
	}
}

// buffers adds the Shuffle_Netty families, and those of them that a task has under its own name as well.
func (e *exposition) buffers(t *Subtask, l string, q queue) {
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
		if r := t.Reported; r != nil {
			e.gauge(scope, "numBytesInLocalPerSecond", l, r.NumBytesInLocal)
			e.gauge(scope, "numBytesInRemotePerSecond", l, r.NumBytesInRemote)
		}
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
