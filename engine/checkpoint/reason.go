package checkpoint

// Reason says why a checkpoint was given up. Flink's CheckpointFailureReason, in our words.
type Reason string

// The reasons. Those of a task come with a decline.
const (
	// OnCancellationBarrier: an upstream task had given it up and said so in the channel.
	OnCancellationBarrier Reason = "declined on cancellation barrier"
	// BySubsumption: a barrier of a newer checkpoint came before all of this one's.
	BySubsumption Reason = "subsumed by a newer checkpoint"
	// TaskClosing: the task was ending when it was asked.
	TaskClosing Reason = "declined: the task is closing"
	// Declined: the task could not take its snapshot.
	Declined Reason = "declined by a task"
	// WriteFailed: the state could not be stored.
	WriteFailed Reason = "the state could not be written"
	// Expired: the timeout passed.
	Expired Reason = "expired"
	// BeginFailed: the storage did not take the checkpoint.
	BeginFailed Reason = "could not be begun"
	// FinalizeFailed: the metadata could not be stored.
	FinalizeFailed Reason = "the metadata could not be written"
	// JobEnded: the job ended, failed or was cancelled meanwhile.
	JobEnded Reason = "the job ended"
)

// Counts tells whether such a failure goes against the tolerated ones. As in Flink's CheckpointFailureManager those
// that come of the job's own course do not: newer checkpoints, ending tasks, cancellation that follows another failure.
func (r Reason) Counts() bool {
	switch r {
	case Declined, WriteFailed, Expired, BeginFailed, FinalizeFailed:
		return true
	}
	return false
}
