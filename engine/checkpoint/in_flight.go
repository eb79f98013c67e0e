package checkpoint

import (
	"errors"
	"slices"
	"sync"
)

// ErrAborted is what data in flight is lost with when its checkpoint is given up.
var ErrAborted = errors.New("the checkpoint was given up")

// InFlight gathers the data in flight that belongs to one subtask's part of one checkpoint: what unaligned barriers
// overtook (Flink's ChannelStateWriter). It is complete when the input side and every output queue have said so. The bytes
// are copied at once, so that no network buffer waits for the disk. Any goroutine may call its methods.
type InFlight struct {
	id int64

	mu      sync.Mutex
	inputs  []ChannelState // by channel
	outputs []ChannelState // by subpartition
	bytes   int64
	waits   int // the input side, and each output queue
	over    bool
	err     error
	// What is known only when the last barrier has come.
	alignmentNs, bytesDuringAlignment int64

	done chan struct{}
}

// NewInFlight begins to gather for a checkpoint; outputs is the number of output queues that will tell.
func NewInFlight(id int64, outputs int) *InFlight {
	return &InFlight{id: id, waits: 1 + outputs, done: make(chan struct{})}
}

// ID is the checkpoint.
func (f *InFlight) ID() int64 { return f.id }

// Done is closed when all is there, or nothing more comes; Err tells which.
func (f *InFlight) Done() <-chan struct{} { return f.done }

// Err is why the data is not complete; nil if it is. It counts once Done is closed.
func (f *InFlight) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// AddInput keeps a copy of data that comes before the barrier in an input channel.
func (f *InFlight) AddInput(channel int, data []byte) { f.keep(&f.inputs, channel, data) }

// AddOutput keeps a copy of data that the barrier overtook in an output queue.
func (f *InFlight) AddOutput(subpartition int, data []byte) { f.keep(&f.outputs, subpartition, data) }

func (f *InFlight) keep(to *[]ChannelState, channel int, data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over || len(data) == 0 {
		return
	}
	f.bytes += int64(len(data))
	i, found := slices.BinarySearchFunc(*to, channel, func(c ChannelState, channel int) int { return c.Channel - channel })
	if !found {
		*to = slices.Insert(*to, i, ChannelState{Channel: channel})
	}
	c := &(*to)[i]
	c.Buffers = append(c.Buffers, slices.Clone(data))
}

// FinishInput tells that every channel has come to its barrier, and what the alignment took, in ns and bytes.
func (f *InFlight) FinishInput(alignmentNs, bytes int64) {
	f.mu.Lock()
	f.alignmentNs, f.bytesDuringAlignment = alignmentNs, bytes
	f.mu.Unlock()
	f.OutputDone(-1)
}

// OutputDone tells that an output queue has nothing more for the checkpoint.
func (f *InFlight) OutputDone(subpartition int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waits--; f.waits == 0 && !f.over {
		f.over = true
		close(f.done)
	}
}

// Fail ends the gathering for a reason. What was kept is let go.
func (f *InFlight) Fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return
	}
	f.over, f.err = true, err
	f.inputs, f.outputs, f.bytes = nil, nil, 0
	close(f.done)
}

// Result adds the data to a state, and tells how many bytes it is and what FinishInput was told. It is called once, when
// Done is closed and Err is nil.
func (f *InFlight) Result(s *TaskState) (bytes, alignmentNs, bytesDuringAlignment int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.Inputs, s.Outputs = f.inputs, f.outputs
	f.inputs, f.outputs = nil, nil
	return f.bytes, f.alignmentNs, f.bytesDuringAlignment
}
