package job

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"weir/engine/checkpoint"
	"weir/engine/keygroup"
	"weir/engine/memory"
	"weir/engine/metric"
	"weir/engine/network"
	"weir/engine/task"
	"weir/engine/trace"
)

// attempt is one execution of a job: from its start, or from a checkpoint, to its end, its failure or its cancellation.
type attempt struct {
	number   int
	graph    *Graph
	settings task.Settings
	groups   int // max parallelism
	tms      []*taskManager
	runners  []*runner // in the order of the graph
	restored *checkpoint.Completed
	started  int64 // ns

	mu     sync.Mutex
	failed error // a reason that no task has

	quit     chan struct{} // ends blocking waits of the tasks
	quitOnce sync.Once
}

// runner is a task with its goroutine, its network ends and its readings.
type runner struct {
	*task.Task
	vertex   *Vertex
	tm       *taskManager
	pool     *memory.LocalPool        // of the partition; nil for a last task
	gatePool *memory.LocalPool        // nil for a source
	remote   []*network.RemoteChannel // by channel; nil where it is local
	local    []*network.LocalChannel
	from     []network.PartitionID // by channel
	readings *readings
	done     chan struct{}
	err      error
}

// maxParallelism is the knob's value, or what follows from the parallelism, or what a checkpoint was made with.
func maxParallelism(s *task.Settings, restored *checkpoint.Completed) int {
	if s.MaxParallelism > 0 {
		return s.MaxParallelism
	}
	if restored != nil && len(restored.Vertices) > 0 {
		return restored.Vertices[0].MaxParallelism
	}
	return keygroup.DefaultMaxParallelism(s.Parallelism)
}

// newAttempt builds all tasks and joins them; nothing runs yet. When it fails nothing is left.
func newAttempt(number int, g *Graph, s task.Settings, restored *checkpoint.Completed, o *Options, log logger) (_ *attempt, err error) {
	if err := keygroup.CheckParallelism(s.Parallelism); err != nil {
		return nil, err
	}
	a := &attempt{number: number, graph: g, settings: s, restored: restored, started: nowNs(), groups: maxParallelism(&s, restored), quit: make(chan struct{})}
	states, err := a.assign()
	if err != nil {
		return nil, err
	}
	if s.Parallelism > a.groups {
		return nil, fmt.Errorf("parallelism %d is above the max parallelism %d", s.Parallelism, a.groups)
	}
	if a.tms, err = startTaskManagers(g, &s, o.Tracer, log); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			a.release(log)
		}
	}()
	for i := range g.Vertices {
		for sub := range s.Parallelism {
			r, err := a.newRunner(&g.Vertices[i], sub, states, o, log)
			if err != nil {
				return nil, fmt.Errorf("%s %d: %w", g.Vertices[i].ID, sub, err)
			}
			a.runners = append(a.runners, r)
		}
	}
	for _, r := range a.runners {
		if err := a.connect(r); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name(), err)
		}
	}
	return a, nil
}

// taskManagerOf spreads the subtasks of each vertex, so that subtasks of one index share a task manager, as slot sharing
// does in Flink.
func (a *attempt) taskManagerOf(subtask int) *taskManager { return a.tms[subtask%len(a.tms)] }

func (a *attempt) partitionID(vertex string, subtask int) network.PartitionID {
	return network.PartitionID{Vertex: vertex, Subtask: subtask, Attempt: a.number}
}

// newRunner makes one task, with its pools and its partition.
func (a *attempt) newRunner(v *Vertex, sub int, states map[string][]*checkpoint.TaskState, o *Options, log logger) (*runner, error) {
	s := &a.settings
	keys, err := keygroup.RangeFor(a.groups, s.Parallelism, sub)
	if err != nil {
		return nil, err
	}
	r := &runner{vertex: v, tm: a.taskManagerOf(sub), done: make(chan struct{})}
	mailbox := task.NewMailbox()
	times := metric.NewTaskTimes()
	c := task.Config{
		Vertex: v.ID, TaskManager: r.tm.id, Source: v.Source, Operators: v.Operators, Mailbox: mailbox, Times: times,
		Tracer: o.Tracer, Logger: log,
		Context: task.Context{Vertex: v.ID, Index: sub, Parallelism: s.Parallelism, MaxParallelism: a.groups, KeyGroups: keys, Settings: s},
	}
	if st := states[v.ID]; st != nil {
		c.Restore = st[sub]
	}
	name := fmt.Sprintf("%s %d", v.ID, sub)
	if e := a.graph.output(v.ID); e != nil {
		if err := a.newPartition(r, &c, e, name, mailbox, times, o); err != nil {
			return nil, err
		}
	}
	if e := a.graph.input(v.ID); e != nil {
		n := a.inputs(e)
		c.Input = e.Schema
		_, required, maximum := memory.GateSizing{Channels: n, BuffersPerChannel: s.ExclusiveBuffers, FloatingPerGate: s.FloatingBuffers}.Split()
		r.gatePool, err = r.tm.memory.CreateLocalPool(memory.PoolOptions{Owner: name + " in", Required: required, Max: maximum})
		if err != nil {
			a.abandon(r)
			return nil, err
		}
		c.Gate = network.NewGate(n, r.gatePool, mailbox.Wake)
		c.Local = make([]bool, n)
	}
	r.Task = task.New(c)
	r.readings = newReadings()
	return r, nil
}

func (a *attempt) newPartition(r *runner, c *task.Config, e *Edge, name string, mailbox *task.Mailbox, times *metric.TaskTimes, o *Options) (err error) {
	s := &a.settings
	n, route := 1, []uint16(nil)
	if e.Exchange == Hash {
		n, route = s.Parallelism, keygroup.Table(a.groups, s.Parallelism)
	}
	required, maximum := memory.PartitionSizing{Type: memory.PipelinedBounded, Subpartitions: n, BuffersPerChannel: s.ExclusiveBuffers, FloatingPerGate: s.FloatingBuffers}.Pool()
	r.pool, err = r.tm.memory.CreateLocalPool(memory.PoolOptions{Owner: name + " out", Required: required, Max: maximum, Subpartitions: n,
		MaxBuffersPerSubpartition: s.MaxBuffersPerSubpartition, MaxOverdraft: s.OverdraftBuffers})
	if err != nil {
		return err
	}
	r.pool.SetOnAvailable(mailbox.Wake)
	if tracer := o.Tracer; tracer != nil {
		r.pool.SetOnLimit(func(sub int) {
			if tracer.On(trace.SubpartitionFull) {
				tracer.Hit(trace.SubpartitionFull, name, trace.Int("subpartition", sub), trace.Int("buffers", s.MaxBuffersPerSubpartition))
			}
		})
	}
	start := 0
	if s.Debloat {
		start = task.DebloatConfigOf(s).Start
	}
	c.Partition = network.NewResultPartition(a.partitionID(e.From, c.Context.Index), n, r.pool, start)
	r.tm.partitions.Register(c.Partition)
	c.Writer = network.NewRecordWriter(c.Partition, network.WriterOptions{Schema: e.Schema, Route: route, Tracer: o.Tracer, Thread: name,
		Hard: hardTimer{times}, Quit: a.quit})
	return nil
}

// inputs is the number of channels of a gate.
func (a *attempt) inputs(e *Edge) int {
	if e.Exchange == Forward {
		return 1
	}
	return a.settings.Parallelism
}

// connect opens the channels of a task's gate.
func (a *attempt) connect(r *runner) error {
	if r.Gate == nil {
		return nil
	}
	e := a.graph.input(r.vertex.ID)
	sub := r.Context.Index
	n := a.inputs(e)
	r.remote, r.local, r.from = make([]*network.RemoteChannel, n), make([]*network.LocalChannel, n), make([]network.PartitionID, n)
	for i := range n {
		producer, subpartition := i, sub
		if e.Exchange == Forward {
			producer, subpartition = sub, 0
		}
		id := a.partitionID(e.From, producer)
		r.from[i] = id
		tm := a.taskManagerOf(producer)
		if tm == r.tm {
			c, err := network.NewLocalChannel(r.Gate, i, tm.partitions, id, subpartition)
			if err != nil {
				return err
			}
			r.local[i] = c
			r.Local[i] = true
			r.Gate.SetChannel(c)
			continue
		}
		c := network.NewRemoteChannel(network.RemoteChannelOptions{Index: i, Gate: r.Gate, Global: r.tm.memory, ExclusiveBuffers: a.settings.ExclusiveBuffers,
			Partition: id, Subpartition: subpartition, Addr: tm.connections.Addr(), Connections: r.tm.connections, Tracer: r.Tracer, Thread: r.Name()})
		r.remote[i] = c
		r.Gate.SetChannel(c)
		if err := c.Setup(context.Background()); err != nil {
			return err
		}
		if err := c.Request(); err != nil {
			return err
		}
	}
	return nil
}

// setListener tells the tasks who hears of their checkpoints.
func (a *attempt) setListener(l task.Listener) {
	for _, r := range a.runners {
		r.Listener = l
	}
}

func (a *attempt) setFailure(err error) {
	a.mu.Lock()
	a.failed = err
	a.mu.Unlock()
}

func (a *attempt) failure() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}

// start runs every task on a goroutine of its own. ended hears of each end, on that goroutine.
func (a *attempt) start(ended func(*runner)) {
	for _, r := range a.runners {
		go func() {
			r.err = r.Run()
			close(r.done)
			ended(r)
		}()
	}
}

// cancel ends all tasks that still run.
func (a *attempt) cancel() {
	a.quitOnce.Do(func() { close(a.quit) })
	for _, r := range a.runners {
		r.Cancel()
	}
}

// wait returns when every task has ended: nil, the first failure, or task.ErrCanceled.
func (a *attempt) wait() error {
	var canceled, failed error
	for _, r := range a.runners {
		<-r.done
		switch {
		case r.err == nil:
		case errors.Is(r.err, task.ErrCanceled), errors.Is(r.err, memory.ErrQuit):
			canceled = task.ErrCanceled
		case failed == nil:
			failed = r.err
		}
	}
	if failed != nil {
		return failed
	}
	return canceled
}

// release gives everything back: channels first, so that the producers' queues empty, then partitions, then memory.
func (a *attempt) release(log logger) {
	for _, r := range a.runners {
		a.abandon(r)
	}
	stopTaskManagers(a.tms, log)
}

func (a *attempt) abandon(r *runner) {
	if r.Task != nil && r.Gate != nil {
		r.Gate.Release()
	} else if r.gatePool != nil {
		r.gatePool.Destroy()
	}
	if r.Task != nil && r.Partition != nil {
		r.tm.partitions.Unregister(r.Partition.ID)
		r.Partition.Release()
	} else if r.pool != nil {
		r.pool.Destroy()
	}
}

// assign deals the state of a checkpoint to the new subtasks.
func (a *attempt) assign() (map[string][]*checkpoint.TaskState, error) {
	if a.restored == nil {
		return nil, nil
	}
	ids := make([]string, len(a.graph.Vertices))
	for i, v := range a.graph.Vertices {
		ids[i] = v.ID
	}
	if err := a.restored.CheckVertices(ids); err != nil {
		return nil, err
	}
	states := map[string][]*checkpoint.TaskState{}
	for _, id := range ids {
		dealt, err := checkpoint.Assign(a.restored, id, a.settings.Parallelism, a.settings.MaxParallelism)
		if err != nil {
			return nil, err
		}
		states[id] = dealt.Subtasks
	}
	return states, nil
}

// hardTimer times the waits inside a record.
type hardTimer struct{ times *metric.TaskTimes }

func (h hardTimer) HardStart() { h.times.HardBackPressured.MarkStart(nowNs()) }
func (h hardTimer) HardEnd()   { h.times.HardBackPressured.MarkEnd(nowNs()) }
