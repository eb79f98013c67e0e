// Package trace has the named events of a running job. A Tracer records them for who watches, and can stop the goroutine
// that hits one, as a debugger stops a thread at a breakpoint, while all others go on.
//
// The call site asks first, so that a tracepoint that nobody watches costs one atomic load and allocates nothing:
//
//	if tracer.On(trace.CreditAdded) {
//		tracer.Hit(trace.CreditAdded, thread, trace.Int("channel", ch), trace.Int("credit", credit))
//	}
//
// Hit may block for as long as a learner looks at the page: call it with no lock held.
package trace

import "fmt"

// Point is a place in the engine that can be watched or armed.
type Point uint8

// The tracepoints: those of the network stack in the order of a record's way, then those of state.
const (
	RecordEmitted         Point = iota // a record was written into its subpartition
	SubpartitionFull                   // a subpartition holds its most buffers, so its pool turns unavailable
	SoftBackPressureBegan              // no output buffer is ready: the task begins no further record
	Flush                              // the output flusher or the buffer timeout made unfinished buffers readable
	ReaderPolled                       // the sender's reader took a buffer, with the credit left
	OnlyEventMayPass                   // the reader has no credit: an event may pass, data may not
	BufferReceived                     // a remote channel took a buffer with its backlog
	CreditAnnounced                    // unannounced credit rose from 0 to n, so that a message goes out
	CreditAdded                        // the sender took the credit
	Debloated                          // the debloater announced a size

	// Of keyed state and its checkpoints.
	BackendLoaded      // a task made its state backend
	StateCreated       // an operator asked for a state that was not there yet
	KeyGroupComputed   // the key of the record was set, its key group with it
	CompositeKeyBuilt  // the bytes under which the LSM store keeps a value
	ValueRead          // the LSM store was asked for a value
	EntryCopied        // the heap copied an entry because a snapshot needs the old one
	NativeCheckpoint   // the LSM store made a checkpoint of its files, by hard links
	SSTReused          // a checkpoint refers to a file that a completed one has
	SSTUploaded        // a checkpoint stored a file, or took it inline
	SharedFileDeleted  // the last reference to a shared file went
	HandlesIntersected // a new subtask was given its part of an old one's handle
	Clipped            // key groups outside the range were cut off restored files
	numPoints
)

var pointNames = [numPoints]string{
	"recordEmitted", "subpartitionFull", "softBackpressureBegan", "flush", "readerPolled", "onlyEventMayPass",
	"bufferReceived", "creditAnnounced", "creditAdded", "debloated",
	"backendLoaded", "stateCreated", "keyGroupComputed", "compositeKeyBuilt", "valueRead", "entryCopied",
	"nativeCheckpoint", "sstReused", "sstUploaded", "sharedFileDeleted", "handlesIntersected", "clipped",
}

// allPoints has the bit of each point.
const allPoints = uint64(1)<<numPoints - 1

func (p Point) bit() uint64 { return 1 << p }

// String is the name on the page and in JSON.
func (p Point) String() string {
	if p < numPoints {
		return pointNames[p]
	}
	return fmt.Sprintf("point %d", uint8(p))
}

// OfState tells the points of keyed state and its checkpoints from those of the network stack.
func (p Point) OfState() bool { return p >= BackendLoaded && p < numPoints }

// ParsePoint finds a point by its name.
func ParsePoint(name string) (Point, error) {
	for i, n := range pointNames {
		if n == name {
			return Point(i), nil
		}
	}
	return 0, fmt.Errorf("tracepoint %q is unknown; there are %v", name, pointNames)
}

// Points are all of them, in the order of a record's way.
func Points() []Point {
	points := make([]Point, numPoints)
	for i := range points {
		points[i] = Point(i)
	}
	return points
}
