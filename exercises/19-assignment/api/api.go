// Package api is what you write against: which state goes to which subtask when a job is rescaled.
package api

import "weir/exercises/kit/wire"

// Mode says how the entries of an operator state are dealt (Flink's OperatorStateHandle.Mode).
type Mode int

// The modes.
const (
	Split     Mode = iota // each entry goes to one subtask: getListState
	Union                 // every subtask gets all entries: getUnionListState
	Broadcast             // every subtask gets one full copy: getBroadcastState
)

// Handle is the keyed state of one old subtask: that of the key groups [First,End).
type Handle struct{ First, End int }

// Piece is a part of a handle, which goes by its place in the list: that of the key groups [First,End).
type Piece struct{ Handle, First, End int }

// Assigner deals the state of a checkpoint to new subtasks. In Flink: StateAssignmentOperation and
// RoundRobinOperatorStateRepartitioner.
type Assigner interface {
	// Keyed gives each of the new subtasks the pieces of handles that are its own, in the order of the handles. No piece is
	// empty. New subtask i owns the key groups that Ranges says.
	Keyed(maxParallelism, parallelism int, handles []Handle) [][]Piece
	// Operator deals one operator state. old[i] is what old subtask i had, nil if it did not report the state at all. start
	// is the new subtask that the dealing of split state begins with; next is where that of the next state begins.
	Operator(mode Mode, old [][]string, parallelism, start int) (dealt [][]string, next int)
}

// Range is the key groups [first,end) that a subtask owns.
func Range(maxParallelism, parallelism, subtask int) (first, end int) {
	begin := func(i int) int { return (i*maxParallelism + parallelism - 1) / parallelism }
	return begin(subtask), begin(subtask + 1)
}

// The methods of a call.
const (
	Begin = iota // anew
	Keyed
	Operator
)

// Dispatch makes the function that takes the checker's calls.
func Dispatch(newAssigner func() Assigner) func(method uint32, args []byte) []byte {
	a := newAssigner()
	return func(method uint32, args []byte) []byte {
		r, w := &wire.Reader{B: args}, &wire.Writer{}
		switch method {
		case Begin:
			a = newAssigner()
		case Keyed:
			most, parallelism := int(r.Int()), int(r.Int())
			handles := make([]Handle, r.Int())
			for i := range handles {
				handles[i] = Handle{int(r.Int()), int(r.Int())}
			}
			dealt := a.Keyed(most, parallelism, handles)
			w.Int(int64(len(dealt)))
			for _, pieces := range dealt {
				w.Int(int64(len(pieces)))
				for _, p := range pieces {
					w.Int(int64(p.Handle))
					w.Int(int64(p.First))
					w.Int(int64(p.End))
				}
			}
		case Operator:
			mode, parallelism, start := Mode(r.Int()), int(r.Int()), int(r.Int())
			dealt, next := a.Operator(mode, ReadLists(r), parallelism, start)
			WriteLists(w, dealt)
			w.Int(int64(next))
		}
		return w.B
	}
}

// WriteLists writes lists, of which some may be nil.
func WriteLists(w *wire.Writer, lists [][]string) {
	w.Int(int64(len(lists)))
	for _, l := range lists {
		w.Bool(l != nil)
		w.Int(int64(len(l)))
		for _, e := range l {
			w.String(e)
		}
	}
}

// ReadLists reads them.
func ReadLists(r *wire.Reader) [][]string {
	var lists [][]string
	for n := r.Int(); n > 0 && !r.Short(); n-- {
		var l []string
		if r.Bool() {
			l = []string{}
		}
		for m := r.Int(); m > 0 && !r.Short(); m-- {
			l = append(l, r.String())
		}
		lists = append(lists, l)
	}
	return lists
}
