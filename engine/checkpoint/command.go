package checkpoint

import (
	"fmt"

	"weir/engine/metric"
	"weir/engine/serde"
)

// CommandKind is what the coordinator asks its shell to do.
type CommandKind uint8

// The commands.
const (
	// TriggerSources: call Storage.Begin(ID) (and Coordinator.Failed with BeginFailed if it refuses, leaving out the rest), then
	// mail Barrier to the Tasks, the sources that run. Other tasks get it by their channels.
	TriggerSources CommandKind = iota
	// WriteFinished: store State, the last state of Task, which has ended, and acknowledge it (or decline) for it.
	WriteFinished
	// WriteMetadata: call Storage.Complete(Completed), then Coordinator.MetadataWritten or Coordinator.Failed with
	// FinalizeFailed.
	WriteMetadata
	// NotifyComplete: tell every running task that checkpoint ID is complete.
	NotifyComplete
	// NotifyAborted: tell every running task that checkpoint ID was given up, and why. With Stop the sources go on.
	NotifyAborted
	// Discard: call Storage.Discard(ID).
	Discard
	// StopJob: the last checkpoint of Coordinator.Stop is complete; end the job, to be restored from Completed.
	StopJob
	// FailJob: more failures than are tolerated; fail the job with Detail.
	FailJob
)

var commandKinds = [...]string{"trigger sources", "write finished", "write metadata", "notify complete", "notify aborted", "discard", "stop job", "fail job"}

func (k CommandKind) String() string {
	if int(k) < len(commandKinds) {
		return commandKinds[k]
	}
	return fmt.Sprintf("CommandKind(%d)", uint8(k))
}

// Command is one thing that the coordinator wants done. Commands are carried out in the order they are answered in.
type Command struct {
	Kind      CommandKind
	ID        int64                   // the checkpoint; all but FailJob
	Barrier   serde.CheckpointBarrier // TriggerSources
	Tasks     []TaskID                // TriggerSources
	Stop      bool                    // TriggerSources, NotifyAborted: sources pause after the barrier, and go on after the abort
	Task      TaskID                  // WriteFinished
	State     *TaskState              // WriteFinished
	Completed *Completed              // WriteMetadata, NotifyComplete, StopJob
	Reason    Reason                  // NotifyAborted
	Detail    string                  // NotifyAborted, FailJob: what the history says, in one line
}

// Ack is what a subtask reports when its part of a checkpoint is stored.
type Ack struct {
	Checkpoint int64
	Task       TaskID
	Handle     Handle
	// In ns: from the trigger to the first barrier; from the first barrier to the last; the snapshot on the task's own
	// goroutine; the write beside it.
	StartDelayNs, AlignmentNs, SyncNs, AsyncNs int64
	// ProcessedBytes were read during the alignment, PersistedBytes are data in flight that was stored: they are part of
	// the Handle's bytes.
	ProcessedBytes, PersistedBytes int64
	// SharedFiles are those of its incremental state. SharedBytes is the size of all of them that are in the shared folder,
	// UploadedBytes of those that were put there for this checkpoint: both come on top of the Handle's bytes.
	SharedFiles                []metric.SharedFile
	SharedBytes, UploadedBytes int64
}
