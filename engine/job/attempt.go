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
	sizes    map[string]vertexSize
	tms      []*taskManager
	runners  []*runner // in the order of the graph
	restored *checkpoint.Completed
	claimed  bool // restored is the job's own
	tracer   *trace.Tracer
	cores    *Cores
	shared   *shared
	folder   stateFolder
	inFlight map[string]*checkpoint.Recovery // by producing vertex
	// recovering is how many tasks read data in flight of the checkpoint first.
	recovering int
	started    int64 // ns

	mu     sync.Mutex
	failed error // a reason that no task has
	first  error // the failure of a task that came before the others

	quit     chan struct{} // ends blocking waits of the tasks
	quitOnce sync.Once
}

// runner is a task with its goroutine, its network ends and its readings.
type runner struct {
	*task.Task
	vertex   *Vertex
	tm       *taskManager
	pool     *memory.LocalPool        // of the partition; nil for a last task
	gates    []*inputGate             // one for each edge in; none for a source
	remote   []*network.RemoteChannel // by channel; nil where it is local
	local    []*network.LocalChannel
	from     []network.PartitionID // by channel
	inputs   []endpoint            // by channel
	readings *readings
	done     chan struct{}
	err      error
}

// inputGate is one input of a task: the channels from first on carry what comes over its edge.
type inputGate struct {
	edge   *Edge
	pool   *memory.LocalPool // floating buffers
	first  int
	inputs []endpoint
}

// vertexSize is how many subtasks and key groups a vertex has.
type vertexSize struct{ parallelism, groups int }

// sizeOf is the size of a vertex: its parallelism, or the job's; as max parallelism the knob's value, or what a checkpoint
// was made with, or what follows from the parallelism.
func sizeOf(v *Vertex, s *task.Settings, restored *checkpoint.Completed) (vertexSize, error) {
	size := vertexSize{parallelism: v.Parallelism, groups: s.MaxParallelism}
	if size.parallelism == 0 {
		size.parallelism = s.Parallelism
	}
	if err := keygroup.CheckParallelism(size.parallelism); err != nil {
		return size, fmt.Errorf("vertex %q: %w", v.ID, err)
	}
	if size.groups == 0 && restored != nil {
		if old, ok := restored.Vertex(v.ID); ok {
			size.groups = old.MaxParallelism
		}
	}
	if size.groups == 0 {
		size.groups = keygroup.DefaultMaxParallelism(size.parallelism)
	}
	if size.parallelism > size.groups {
		return size, fmt.Errorf("vertex %q: parallelism %d is above the max parallelism %d", v.ID, size.parallelism, size.groups)
	}
	return size, nil
}

// measure finds the size of every vertex.
func (a *attempt) measure() error {
	a.sizes = make(map[string]vertexSize, len(a.graph.Vertices))
	for i := range a.graph.Vertices {
		v := &a.graph.Vertices[i]
		size, err := sizeOf(v, &a.settings, a.restored)
		if err != nil {
			return err
		}
		a.sizes[v.ID] = size
	}
	for _, e := range a.graph.Edges {
		if from, to := a.sizes[e.From].parallelism, a.sizes[e.To].parallelism; e.Exchange == Forward && from != to {
			return fmt.Errorf("edge %s -> %s: forward does not allow a change of parallelism, from %d to %d: use rescale, rebalance or broadcast", e.From, e.To, from, to)
		}
	}
	return nil
}

// newAttempt builds all tasks and joins them; nothing runs yet. When it fails nothing is left.
func newAttempt(number int, g *Graph, s task.Settings, restored *checkpoint.Completed, claimed bool, sh *shared, o *Options, log logger) (_ *attempt, err error) {
	a := &attempt{number: number, graph: g, settings: s, restored: restored, claimed: claimed, shared: sh, tracer: o.Tracer, cores: &o.Cores, started: nowNs(), quit: make(chan struct{})}
	if err := checkMode(&s, g); err != nil {
		return nil, err
	}
	if err := a.measure(); err != nil {
		return nil, err
	}
	states, err := a.assign(o.Cores.Assign)
	if err != nil {
		return nil, err
	}
	a.traceHandles(o.Tracer, states)
	if a.tms, err = startTaskManagers(g, &s, o, log); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			a.release(log)
		}
	}()
	for i := range g.Vertices {
		for sub := range a.sizes[g.Vertices[i].ID].parallelism {
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
// does in Flink, unless the vertex says where it runs.
func (a *attempt) taskManagerOf(v *Vertex, subtask int) *taskManager {
	if v.TaskManager > 0 {
		subtask = v.TaskManager - 1
	}
	return a.tms[subtask%len(a.tms)]
}

func (a *attempt) partitionID(vertex string, subtask int) network.PartitionID {
	return network.PartitionID{Vertex: vertex, Subtask: subtask, Attempt: a.number}
}

// newRunner makes one task, with its pools and its partition.
func (a *attempt) newRunner(v *Vertex, sub int, states map[string][]*checkpoint.TaskState, o *Options, log logger) (*runner, error) {
	s := &a.settings
	size := a.sizes[v.ID]
	keys, err := o.Cores.KeyGroups(size.groups, size.parallelism, sub)
	if err != nil {
		return nil, err
	}
	r := &runner{vertex: v, tm: a.taskManagerOf(v, sub), done: make(chan struct{})}
	mailbox := task.NewMailbox()
	times := metric.NewTaskTimes()
	c := task.Config{
		Vertex: v.ID, TaskManager: r.tm.id, Source: v.Source, Operators: v.Operators, Mailbox: mailbox, Times: times,
		Tracer: o.Tracer, Logger: log, Debloater: o.Cores.Debloater,
		Context: task.Context{Vertex: v.ID, Index: sub, Parallelism: size.parallelism, MaxParallelism: size.groups, KeyGroups: keys, Settings: s},
	}
	if len(v.Operators) > 0 {
		c.Context.State = a.stateEnv(r.tm, v, sub)
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
	if edges := a.graph.inputs(v.ID); len(edges) > 0 {
		if err := a.newGate(r, &c, edges, name, mailbox); err != nil {
			a.abandon(r)
			return nil, err
		}
	}
	r.Task = task.New(c)
	r.readings = newReadings(len(v.Operators))
	return r, nil
}

// newGate makes the gate of a task, with a pool of floating buffers for each of its inputs.
func (a *attempt) newGate(r *runner, c *task.Config, edges []*Edge, name string, mailbox *task.Mailbox) error {
	s, sub := &a.settings, c.Context.Index
	c.Input = edges[0].Schema
	n := 0
	for _, e := range edges {
		in := &inputGate{edge: e, first: n, inputs: a.inputs(e, sub)}
		k := len(in.inputs)
		n += k
		_, required, maximum := memory.GateSizing{Channels: k, BuffersPerChannel: s.ExclusiveBuffers, FloatingPerGate: s.FloatingBuffers}.Split()
		if a.noCredit() { // as before Flink 1.5: all buffers are in the gate's pool
			required, maximum = k, k*s.ExclusiveBuffers+s.FloatingBuffers
			maximum = max(required, maximum)
		}
		owner := name + " in"
		if len(r.gates) > 0 {
			owner = fmt.Sprintf("%s %d", owner, len(r.gates)+1)
		}
		var err error
		if in.pool, err = r.tm.memory.CreateLocalPool(memory.PoolOptions{Owner: owner, Required: required, Max: maximum}); err != nil {
			return err
		}
		r.gates = append(r.gates, in)
	}
	c.Gate = network.NewGate(n, r.gates[0].pool, mailbox.Wake)
	for _, in := range r.gates[1:] {
		c.Gate.AddPool(in.pool)
	}
	c.Recovery = a.recoverInput(edges, sub)
	c.Local = make([]bool, n)
	return nil
}

func (a *attempt) newPartition(r *runner, c *task.Config, e *Edge, name string, mailbox *task.Mailbox, times *metric.TaskTimes, o *Options) (err error) {
	s := &a.settings
	consumers := a.sizes[e.To]
	n := e.Exchange.subpartitions(c.Context.Index, a.sizes[e.From].parallelism, consumers.parallelism)
	required, maximum := memory.PartitionSizing{Type: memory.PipelinedBounded, Subpartitions: n, BuffersPerChannel: s.ExclusiveBuffers, FloatingPerGate: s.FloatingBuffers}.Pool()
	r.pool, err = r.tm.memory.CreateLocalPool(memory.PoolOptions{Owner: name + " out", Required: required, Max: maximum, Subpartitions: n,
		MaxBuffersPerSubpartition: s.MaxBuffersPerSubpartition, MaxOverdraft: s.OverdraftBuffers})
	if err != nil {
		return err
	}
	if o.Cores.Pool != nil {
		r.pool.UseCore(o.Cores.Pool())
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
	if o.Cores.Network.Subpartition != nil {
		c.Partition.UseCores(o.Cores.Network.Subpartition)
	}
	if err := a.recoverOutput(c.Partition, e, c.Context.Index, r.tm.memory.SegmentBytes()); err != nil {
		return err
	}
	_, c.UnalignedOutput = e.Exchange.unaligned()
	r.tm.partitions.Register(c.Partition)
	w := network.WriterOptions{Schema: e.Schema, Tracer: o.Tracer, Thread: name, Hard: &hardTimer{times: times, runner: r}, Quit: a.quit}
	e.Exchange.deal(&w, s, e.From, c.Context.Index, n, consumers.groups)
	if e.Exchange == Hash {
		route, err := o.Cores.route(consumers.groups, n)
		if err != nil {
			return err
		}
		if route != nil {
			w.Route = route
		}
	}
	c.Writer = network.NewRecordWriter(c.Partition, w)
	return nil
}

// inputs are what the channels of a gate read.
func (a *attempt) inputs(e *Edge, subtask int) []endpoint {
	return e.Exchange.inputs(subtask, a.sizes[e.From].parallelism, a.sizes[e.To].parallelism)
}

// connect opens the channels of a task's gate.
func (a *attempt) connect(r *runner) error {
	if r.Gate == nil {
		return nil
	}
	n := r.Gate.Channels()
	r.inputs = make([]endpoint, 0, n)
	r.remote, r.local, r.from = make([]*network.RemoteChannel, n), make([]*network.LocalChannel, n), make([]network.PartitionID, n)
	for _, in := range r.gates {
		r.inputs = append(r.inputs, in.inputs...)
		for i, end := range in.inputs {
			if err := a.connectChannel(r, in, in.first+i, end); err != nil {
				return err
			}
		}
	}
	return nil
}

// connectChannel opens channel i of a gate, which reads one subpartition.
func (a *attempt) connectChannel(r *runner, in *inputGate, i int, end endpoint) error {
	id := a.partitionID(in.edge.From, end.producer)
	r.from[i] = id
	tm := a.taskManagerOf(a.graph.vertex(in.edge.From), end.producer)
	if tm == r.tm {
		c, err := network.NewLocalChannel(r.Gate, i, tm.partitions, id, end.subpartition)
		if err != nil {
			return err
		}
		r.local[i] = c
		r.Local[i] = true
		r.Gate.SetChannel(c)
		return nil
	}
	announcer, receiver := a.cores.Network.Channel(a.exclusive())
	c := network.NewRemoteChannel(network.RemoteChannelOptions{Announcer: announcer, Receiver: receiver, Index: i, Gate: r.Gate, Pool: in.pool, Global: r.tm.memory, ExclusiveBuffers: a.exclusive(), NoCredit: a.noCredit(),
		Partition: id, Subpartition: end.subpartition, Addr: tm.connections.Addr(), Connections: r.tm.connections, Tracer: r.Tracer, Thread: r.Name()})
	r.remote[i] = c
	r.Gate.SetChannel(c)
	if err := c.Setup(context.Background()); err != nil {
		return err
	}
	return c.Request()
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
			a.note(r.err)
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
	var canceled error
	for _, r := range a.runners {
		<-r.done
		if isCanceled(r.err) {
			canceled = task.ErrCanceled
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.first != nil {
		return a.first
	}
	return canceled
}

func isCanceled(err error) bool {
	return errors.Is(err, task.ErrCanceled) || errors.Is(err, memory.ErrQuit)
}

// note keeps the first failure in time: those behind it may be its consequences.
func (a *attempt) note(err error) {
	if err == nil || isCanceled(err) {
		return
	}
	a.mu.Lock()
	if a.first == nil {
		a.first = err
	}
	a.mu.Unlock()
}

// noCredit says that data flows without credit; channels then have no buffers of their own.
func (a *attempt) noCredit() bool { return a.settings.FlowControl == "tcp" }

// exclusive is the number of buffers that each remote channel has of its own.
func (a *attempt) exclusive() int {
	if a.noCredit() {
		return 0
	}
	return a.settings.ExclusiveBuffers
}

// wire joins the task managers.
func (a *attempt) wire() *network.Wire { return a.tms[0].wire }

// release gives everything back: channels first, so that the producers' queues empty, then partitions, then memory.
func (a *attempt) release(log logger) {
	for _, r := range a.runners {
		a.abandon(r)
	}
	stopTaskManagers(a.tms, log)
	a.folder.remove(log)
}

func (a *attempt) abandon(r *runner) {
	if r.Task != nil && r.Gate != nil {
		r.Gate.Release()
	} else {
		for _, in := range r.gates {
			in.pool.Destroy()
		}
	}
	if r.Task != nil && r.Partition != nil {
		r.tm.partitions.Unregister(r.Partition.ID)
		r.Partition.Release()
	} else if r.pool != nil {
		r.pool.Destroy()
	}
}

// assign deals the state of a checkpoint to the new subtasks.
func (a *attempt) assign(deal func(c *checkpoint.Completed, vertex string, parallelism, maxParallelism int) (*checkpoint.Assignment, error)) (map[string][]*checkpoint.TaskState, error) {
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
	states, all := map[string][]*checkpoint.TaskState{}, map[string]*checkpoint.Assignment{}
	for _, id := range ids {
		dealt, err := deal(a.restored, id, a.sizes[id].parallelism, a.settings.MaxParallelism)
		if err != nil {
			return nil, err
		}
		if err := a.checkFiles(id, dealt); err != nil {
			return nil, err
		}
		states[id], all[id] = dealt.Subtasks, dealt
	}
	return states, a.assignInFlight(all)
}

// hardTimer times the waits inside a record.
type hardTimer struct {
	times  *metric.TaskTimes
	runner *runner
}

// HardStart also publishes the task's counters: the record may be long, and be blocked for seconds.
func (h *hardTimer) HardStart() {
	h.runner.Publish()
	h.times.HardBackPressured.MarkStart(nowNs())
}

func (h *hardTimer) HardEnd() { h.times.HardBackPressured.MarkEnd(nowNs()) }
