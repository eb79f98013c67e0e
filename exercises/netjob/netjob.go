// Package netjob runs a short job with learner's cores in its network stack, and sees that each record arrives once.
package netjob

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/job"
	"weir/engine/metric"
	"weir/engine/serde"
	"weir/engine/task"
	"weir/exercises/history"
	"weir/exercises/kit"
	"weir/labs"
)

// Records is how many records a job has.
const Records = 4000

// The pace of a job: the consumer pauses so long after so many records, so that its senders meet their limits.
const (
	pauseEvery = 25
	pause      = time.Millisecond
)

// A job that delivers nothing for stallTicks ticks stands still. A tick that came late, or in which a call of the core was
// not answered, begins anew: then it was the machine that had no time.
const (
	tick       = 20 * time.Millisecond
	lateTick   = 200 * time.Millisecond
	stallTicks = 100
)

// Report is what came of a job.
type Report struct {
	Delivered int64 // different records that arrived
	Twice     int64 // arrivals of records that had arrived already
	Stalled   bool
	Err       error            // the job failed with it
	Snapshot  *metric.Snapshot // at the end, or where it stood still
	Completed int              // checkpoints
	Failed    int
	Cut       bool // there was no time to see its end
}

// counted counts the calls of a core.
type counted struct {
	kit.Core
	begun, answered atomic.Int64
}

// Call implements kit.Core.
func (c *counted) Call(method uint32, args []byte) []byte {
	c.begun.Add(1)
	defer c.answered.Add(1)
	return c.Core.Call(method, args)
}

// Run runs source → keyBy → sink over two task managers until it has ended, failed, or stands still. cores makes the job's
// cores of the learner's, by way of the core that it is given.
func Run(ctx context.Context, w *kit.Work, cores func(kit.Core) job.Cores) (*Report, error) {
	core := &counted{Core: w.Core}
	s := history.Settings()
	s.SegmentBytes, s.NetworkMemoryBytes, s.CheckpointIntervalMs = 1<<10, 1<<20, 60
	sink := &seen{}
	g := job.Graph{
		Name: "exercise",
		Vertices: []job.Vertex{
			{ID: "source", Name: "Source: numbers", Source: &task.SourceFactory{Name: "source", New: func() task.Source { return &numbers{} }}},
			{ID: "sink", Name: "sink", Operators: []task.OperatorFactory{{Name: "sink", New: func() task.Operator { return &collector{seen: sink} }}}},
		},
		Edges: []job.Edge{{From: "source", To: "sink", Exchange: job.Hash, Schema: serde.Schema{Key: serde.Long, Payload: true}}},
	}
	j, err := job.Start(g, s, job.Options{Cores: cores(core)})
	if err != nil {
		return nil, err
	}
	defer j.Close()
	r := &Report{Stalled: watch(ctx, core, j, sink)}
	r.Cut = ctx.Err() != nil
	r.Snapshot = j.Snapshot()
	if !r.Stalled {
		r.Err = j.Err()
	}
	r.Delivered, r.Twice = sink.different.Load(), sink.twice.Load()
	for _, c := range r.Snapshot.Checkpoints {
		switch c.Status {
		case "COMPLETED":
			r.Completed++
		case "FAILED":
			r.Failed++
		}
	}
	return r, nil
}

// watch waits for the end of the job; true says that it stands still.
func watch(ctx context.Context, core *counted, j *job.Job, sink *seen) (stalled bool) {
	t := time.NewTicker(tick)
	defer t.Stop()
	last, count, answered, quiet := time.Now(), int64(-1), int64(-1), 0
	for {
		select {
		case <-j.Done():
			return false
		case <-ctx.Done():
			return true
		case <-t.C:
		}
		now := time.Now()
		n, a := sink.arrived.Load(), core.answered.Load()
		waits := a == answered && core.begun.Load() > a
		if n != count || waits || now.Sub(last) > lateTick {
			quiet = 0
		} else {
			quiet++
		}
		count, answered, last = n, a, now
		if quiet >= stallTicks || core.Err() != nil {
			return true
		}
	}
}

// Finding says what is wrong with a job; nil if each record arrived once and the job ended.
func (r *Report) Finding(where, try labs.Text) *kit.Finding {
	f := &kit.Finding{Where: where, Try: try,
		Expected: labs.Text{En: fmt.Sprintf("the job delivers %d records, each once, and ends", Records), Zh: fmt.Sprintf("作业把 %d 条记录各送达一次，然后结束", Records)}}
	switch {
	case r.Cut:
		f.NotJudged = true
		f.Seen = labs.Text{En: fmt.Sprintf("the time was over after %d records", r.Delivered), Zh: fmt.Sprintf("%d 条记录之后时间用完", r.Delivered)}
	case r.Stalled:
		at := r.standstill()
		f.Seen = labs.Text{En: fmt.Sprintf("the job stands still after %d records: %s", r.Delivered, at.En), Zh: fmt.Sprintf("作业在 %d 条记录之后停住不动：%s", r.Delivered, at.Zh)}
	case r.Err != nil:
		f.Seen = labs.Text{En: "the job failed: " + r.Err.Error(), Zh: "作业失败：" + r.Err.Error()}
	case r.Delivered != Records || r.Twice > 0:
		f.Seen = labs.Text{En: fmt.Sprintf("%d records arrived, %d of them more than once", r.Delivered, r.Twice), Zh: fmt.Sprintf("到达 %d 条记录，其中 %d 条重复", r.Delivered, r.Twice)}
	default:
		return nil
	}
	return f
}

// standstill lists what the engine's own readings show of each remote channel and each producer's pool.
func (r *Report) standstill() labs.Text {
	var en, zh []string
	for _, c := range r.Snapshot.Channels {
		if c.Kind != "remote" || c.Consumer == nil {
			continue
		}
		where := fmt.Sprintf("source %d → sink %d", c.From.Subtask, c.To.Subtask)
		en = append(en, fmt.Sprintf("%s: the sender has credit %d, the receiver %d exclusive and %d floating buffers free", where, c.Producer.Credit, c.Consumer.ExclusiveFree, c.Consumer.FloatingHeld))
		zh = append(zh, fmt.Sprintf("%s：发送端 credit %d，接收端空闲 %d 个独占、%d 个浮动 buffer", where, c.Producer.Credit, c.Consumer.ExclusiveFree, c.Consumer.FloatingHeld))
	}
	for _, p := range r.Snapshot.Pools {
		if strings.HasSuffix(p.Owner, "out") {
			en = append(en, fmt.Sprintf("pool %s: %d of %d out, by subpartition %v", p.Owner, p.Requested-p.Available, p.Size, p.PerSubpartition))
			zh = append(zh, fmt.Sprintf("池 %s：%d/%d 在外，各子分区 %v", p.Owner, p.Requested-p.Available, p.Size, p.PerSubpartition))
		}
	}
	return labs.Text{En: strings.Join(en, "; "), Zh: strings.Join(zh, "；")}
}

// numbers is a source of numbered records; each subtask makes every n-th.
type numbers struct {
	ctx  *task.Context
	next int
	text [80]byte
}

func (n *numbers) Open(c *task.Context) error {
	n.ctx, n.next = c, c.Index
	for i := range n.text {
		n.text[i] = '.'
	}
	return nil
}

func (n *numbers) Next(r *serde.Record) (task.Status, time.Duration) {
	if n.next >= Records {
		return task.End, 0
	}
	r.Key.Num = int64(n.next)
	// Records of many lengths, so that they end at all places of a buffer.
	r.Payload = strconv.Itoa(n.next) + string(n.text[:n.next%len(n.text)])
	n.next += n.ctx.Parallelism
	return task.Ready, 0
}

func (n *numbers) Err() error                              { return nil }
func (n *numbers) SettingsChanged()                        {}
func (n *numbers) Snapshot() *checkpoint.OperatorState     { return nil }
func (n *numbers) Restore(*checkpoint.OperatorState) error { return nil }
func (n *numbers) Close() error                            { return nil }

// seen is what all subtasks of the sink have seen.
type seen struct {
	records                   [Records]atomic.Bool
	arrived, different, twice atomic.Int64
}

// collector is one subtask of the sink.
type collector struct {
	seen *seen
	n    int
}

func (c *collector) Open(*task.Context, task.Output) error { return nil }

func (c *collector) Process(r *serde.Record) error {
	number, _, _ := strings.Cut(r.Payload, ".")
	i, err := strconv.Atoi(number)
	if err != nil || i < 0 || i >= Records || int64(i) != r.Key.Num {
		return fmt.Errorf("a record arrived that nobody sent: key %d, text %.20q", r.Key.Num, r.Payload)
	}
	c.seen.arrived.Add(1)
	if c.seen.records[i].Swap(true) {
		c.seen.twice.Add(1)
	} else {
		c.seen.different.Add(1)
	}
	if c.n++; c.n%pauseEvery == 0 {
		time.Sleep(pause)
	}
	return nil
}

func (c *collector) Finish() error                           { return nil }
func (c *collector) SettingsChanged()                        {}
func (c *collector) Snapshot() *checkpoint.OperatorState     { return nil }
func (c *collector) Restore(*checkpoint.OperatorState) error { return nil }
func (c *collector) Close() error                            { return nil }
