package job

import (
	"maps"

	"weir/engine/memory"
	"weir/engine/metric"
)

// Snapshot is the picture of the job now. It takes the locks of pools, queues and channels one after the other, for as
// long as it takes to read them; no task waits for it.
func (j *Job) Snapshot() *metric.Snapshot {
	j.mu.Lock()
	a := j.attempt
	s := &metric.Snapshot{
		Lab: j.options.Lab, State: j.state.String(), TimeMs: j.elapsed().Milliseconds(), Restarts: j.restarts,
	}
	if j.failure != nil {
		s.Failure = j.failure.Error()
	} else if j.survived != nil {
		s.Failure = j.survived.Error()
	}
	s.Life = j.life()
	if a.restored != nil {
		s.RestoredCheckpointID = a.restored.ID
	}
	final, checkpoints := j.final, j.checkpoints
	j.mu.Unlock()
	if final != nil { // ended, or about to restart: the last readings, taken before everything was given back
		last := *final
		last.State, last.Failure, last.TimeMs, last.Restarts, last.Life = s.State, s.Failure, s.TimeMs, s.Restarts, s.Life
		checkpoints.fill(&last)
		return &last
	}
	a.fill(s)
	checkpoints.fill(s)
	return s
}

// fill reads the tasks and the network of an attempt.
func (a *attempt) fill(s *metric.Snapshot) {
	now := nowNs()
	s.Channels = make([]metric.Channel, 0, 8)
	for _, r := range a.runners {
		if len(s.Vertices) == 0 || s.Vertices[len(s.Vertices)-1].ID != r.vertex.ID {
			s.Vertices = append(s.Vertices, metric.Vertex{ID: r.vertex.ID, Name: r.vertex.Name, Parallelism: a.sizes[r.vertex.ID].parallelism, MaxParallelism: a.sizes[r.vertex.ID].groups,
				Operators: r.operatorNames()})
		}
		v := &s.Vertices[len(s.Vertices)-1]
		v.Subtasks = append(v.Subtasks, r.subtask(now, a.started, a.exclusive()))
		if r.pool != nil {
			s.Pools = append(s.Pools, poolReading(r.pool))
		}
		for i, in := range r.gates {
			s.Pools = append(s.Pools, poolReading(in.pool))
			st := in.pool.Stats()
			s.Gates = append(s.Gates, metric.Gate{Vertex: r.vertex.ID, Subtask: r.Context.Index, Index: i, FloatingFree: max(0, st.Size-st.Used), FloatingTotal: st.Size})
		}
		for i := range r.from {
			s.Channels = append(s.Channels, a.channel(r, i))
		}
	}
	for i := range s.Vertices {
		s.Vertices[i].BackpressureLevel = backpressureLevel(&s.Vertices[i])
	}
	a.totals(s)
	s.TaskManagers = a.taskManagers()
}

// backpressureLevel is that of the subtask that was back-pressured most over the last second.
func backpressureLevel(v *metric.Vertex) string {
	worst := 0.0
	for _, t := range v.Subtasks {
		worst = max(worst, t.Recent.BackPressured)
	}
	return metric.BackpressureLevel(worst)
}

func (r *runner) subtask(now, started int64, ownBuffers int) metric.Subtask {
	c := &r.Counters
	keys := r.Context.KeyGroups
	t := metric.Subtask{
		Index: r.Context.Index, TaskManager: r.tm.id, KeyGroups: [2]int{keys.First, keys.Last},
		Rates: r.rates(), Recent: r.recent(now),
		NumRecordsIn: c.RecordsIn.Load(), NumRecordsOut: c.RecordsOut.Load(),
		NumBytesIn: c.BytesInLocal.Load() + c.BytesInRemote.Load(), NumBytesInLocal: c.BytesInLocal.Load(), NumBytesInRemote: c.BytesInRemote.Load(),
		NumBytesOut: c.BytesOut.Load(), NumBuffersOut: c.BuffersOut.Load(),
		NumBuffersInLocal: c.BuffersInLocal.Load(), NumBuffersInRemote: c.BuffersInRemote.Load(),
		OutPoolUsage: r.outPoolUsage(), DebloatedBufferSize: int(c.DebloatedSize.Load()), EstimatedTimeToConsumeBuffers: c.EstimatedTimeToConsume.Load(),
		MailboxQueueSize: r.Mailbox.Len(), MailboxLatencyMs: float64(r.Mailbox.LastWait()) / 1e6,
		Accumulated: r.Times.Accumulated(started, now), State: r.State(),
	}
	t.IsBackPressured = r.pool != nil && !r.pool.Available()
	t.OutPoolUsageMax = r.readings.outPoolMax.Observe(now, t.OutPoolUsage)
	t.MeanFill = r.meanFill(now)
	t.LatencyMs, t.LatencyBuckets = r.Latency(now)
	r.inputUsage(&t, ownBuffers)
	r.eventTime(&t)
	t.Reported = r.reported(now)
	return t
}

// inputUsage are Flink's three usages of input buffers: the exclusive ones of the remote channels, the floating ones of
// the gate, and both together. A buffer counts as used unless it lies free in a channel or in the pool.
func (r *runner) inputUsage(t *metric.Subtask, own int) {
	if len(r.gates) == 0 {
		return
	}
	exclusive, exclusiveUsed, floatingHeld := 0, 0, 0
	for _, c := range r.remote {
		if c == nil {
			continue
		}
		st := c.Stats()
		exclusive += own
		exclusiveUsed += max(0, own-st.ExclusiveFree)
		floatingHeld += st.FloatingHeld
	}
	used, size := 0, 0 // of the pools
	for _, in := range r.gates {
		st := in.pool.Stats()
		used, size = used+st.Used, size+st.Size
	}
	floatingUsed := max(0, used-floatingHeld)
	if exclusive > 0 {
		t.InputExclusiveBuffersUsage = float64(exclusiveUsed) / float64(exclusive)
	}
	if size > 0 {
		t.InputFloatingBuffersUsage = float64(floatingUsed) / float64(size)
	}
	if all := exclusive + size; all > 0 {
		t.InPoolUsage = float64(exclusiveUsed+floatingUsed) / float64(all)
	}
}

// channel reads both ends of a logical channel.
func (a *attempt) channel(r *runner, i int) metric.Channel {
	from := r.from[i]
	sub := r.inputs[i].subpartition
	producer := a.runner(from.Vertex, from.Subtask)
	st := producer.Partition.Stats(sub)
	c := metric.Channel{From: metric.End{Vertex: from.Vertex, Subtask: from.Subtask}, To: metric.End{Vertex: r.vertex.ID, Subtask: r.Context.Index},
		Kind: "local", Producer: metric.ProducerEnd{Buffers: st.Buffers, Bytes: st.Bytes, Backlog: st.Backlog, Fill: st.Fill, Blocked: st.Blocked}}
	c.Overtaken = st.Overtaken
	if l := r.local[i]; l != nil {
		c.SentBuffers, c.SentEvents = l.Taken()
		return c
	}
	rc := r.remote[i]
	rs := rc.Stats()
	c.Kind = "remote"
	c.Overtaken += rs.Overtaken
	held := rs.ExclusiveFree + rs.FloatingHeld // free ones and those with data
	for _, bytes := range rs.Fill {
		if bytes >= 0 {
			held++
		}
	}
	c.Consumer = &metric.ConsumerEnd{Queued: rs.Queued, QueuedBytes: rs.QueuedBytes, Fill: rs.Fill, ExclusiveFree: rs.ExclusiveFree,
		FloatingHeld:      max(rs.FloatingHeld, held-a.exclusive()),
		UnannouncedCredit: rs.Unannounced}
	c.SentAddCredit, c.AnnouncedCredit = rs.SentAddCredit, rs.AnnouncedCredit
	if reader, ok := producer.Partition.ReaderStats(sub); ok {
		c.Producer.Credit, c.SentBuffers, c.SentEvents = reader.Credit, reader.SentBuffers, reader.SentEvents
	}
	return c
}

func (a *attempt) runner(vertex string, subtask int) *runner {
	for _, r := range a.runners {
		if r.vertex.ID == vertex && r.Context.Index == subtask {
			return r
		}
	}
	return nil
}

// maxCounts is the number of keys up to which counts are listed.
const maxCounts = 1000

func (a *attempt) totals(s *metric.Snapshot) {
	var counts map[string]int64
	all := true // false with too many keys to list
	for _, r := range a.runners {
		s.Totals.RecordsEmitted += r.Counters.RecordsEmitted.Load()
		if a.graph.output(r.vertex.ID) == nil {
			s.Totals.RecordsProcessed += r.Counters.RecordsIn.Load()
		}
		mine, ok := r.CountsByKey()
		if !ok {
			continue
		}
		all = all && mine != nil
		if counts == nil {
			counts = map[string]int64{}
		}
		maps.Copy(counts, mine)
	}
	if all && len(counts) <= maxCounts {
		s.Totals.CountsByKey = counts
	}
}

func poolReading(p *memory.LocalPool) metric.Pool {
	st := p.Stats()
	return metric.Pool{Owner: p.Owner(), Size: st.Size, Max: st.Max, Requested: st.Requested, OverdraftInUse: st.Overdraft, Available: st.Ready,
		PerSubpartition: p.AppendSubpartitions(nil)}
}
