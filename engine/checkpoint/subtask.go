package checkpoint

// Subtask is what a task remembers of its checkpoints, so that one that was aborted from above is not taken when its
// barriers arrive late. Part of Flink's SubtaskCheckpointCoordinatorImpl. It belongs to the task's goroutine.
type Subtask struct {
	last    int64
	aborted map[int64]struct{}
}

// maxAborted bounds the memory for ids whose barriers may never come.
const maxAborted = 128

// Decision is what to do with a checkpoint that is about to be taken.
type Decision uint8

// The decisions.
const (
	// Snapshot: take it.
	Snapshot Decision = iota
	// Ignore: a newer one has been dealt with already.
	Ignore
	// SendCancel: it was aborted; send a CancelCheckpointMarker on in place of the barrier.
	SendCancel
)

func (d Decision) String() string {
	return [...]string{"snapshot", "ignore", "send cancel"}[min(d, SendCancel)]
}

// Start is called when the alignment is done (or, in a source, when the trigger has come).
func (s *Subtask) Start(id int64) Decision {
	if id <= s.last {
		return Ignore
	}
	s.last = id
	_, aborted := s.aborted[id]
	for old := range s.aborted {
		if old <= id {
			delete(s.aborted, old)
		}
	}
	if aborted {
		return SendCancel
	}
	return Snapshot
}

// Gone is called when the task itself gave a checkpoint up: its barrier handler aborted it.
func (s *Subtask) Gone(id int64) { s.last = max(s.last, id) }

// Aborted is called when the coordinator gave a checkpoint up. It answers true when the task has dealt with it already:
// a write that still runs may then be broken off.
func (s *Subtask) Aborted(id int64) bool {
	if id <= s.last {
		return true
	}
	if s.aborted == nil {
		s.aborted = map[int64]struct{}{}
	}
	s.aborted[id] = struct{}{}
	for len(s.aborted) > maxAborted {
		oldest := id
		for old := range s.aborted {
			oldest = min(oldest, old)
		}
		delete(s.aborted, oldest)
	}
	return false
}

// Last is the newest checkpoint that the task has taken, cancelled or declined; a task that ends reports it.
func (s *Subtask) Last() int64 { return s.last }
