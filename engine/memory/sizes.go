package memory

// PartitionType is how a result partition hands its data on (Flink's ResultPartitionType).
type PartitionType int

const (
	// Pipelined hands data on as it is produced, with no bound on its buffers.
	Pipelined PartitionType = iota
	// PipelinedBounded is Pipelined with a bound; what a streaming job uses.
	PipelinedBounded
	// Blocking keeps its data until it is complete.
	Blocking
)

// PartitionSizing says what the pool of a result partition is sized by.
type PartitionSizing struct {
	Type              PartitionType
	Subpartitions     int
	BuffersPerChannel int // exclusive buffers of a channel
	FloatingPerGate   int
	// Sort shuffle is used by a blocking partition with at least as many subpartitions, and needs as many buffers.
	SortShuffleMinParallelism int
	SortShuffleMinBuffers     int
}

// Pool returns the required number and the maximum of the pool, -1 without a bound: for a streaming job, one segment
// for each subpartition and one more, at most what the channels' exclusive and the gate's floating buffers make
// (Flink's NettyShuffleUtils).
func (s PartitionSizing) Pool() (required, maximum int) {
	sort := s.Type == Blocking && s.Subpartitions >= s.SortShuffleMinParallelism
	required = s.Subpartitions + 1
	if sort {
		required = s.SortShuffleMinBuffers
	}
	switch {
	case s.Type == PipelinedBounded:
		maximum = s.Subpartitions*s.BuffersPerChannel + s.FloatingPerGate
	case sort:
		maximum = 4 * s.Subpartitions
	default:
		return required, -1
	}
	return required, max(maximum, required)
}

// FloatingPool returns the required number and the maximum of a gate's pool of floating buffers. One is required even
// if none is configured; no pool can be made of that, as its maximum is below.
func FloatingPool(floatingPerGate int) (required, maximum int) { return 1, floatingPerGate }

// GateSizing says what the buffers of an input gate are sized by.
type GateSizing struct {
	Channels          int
	BuffersPerChannel int // exclusive buffers of a channel
	FloatingPerGate   int
	// RequiredPerGateMax bounds what the gate may insist on; 0 or less means no bound, as in a streaming job.
	RequiredPerGateMax int
}

// Split returns how many exclusive buffers each channel gets and the required number and the maximum of the pool of
// floating ones. A gate insists on its exclusive buffers and one floating; where that exceeds RequiredPerGateMax,
// exclusive buffers become floating ones, evenly for all channels (Flink's GateBuffersSpec). A gate without channels
// gets none.
func (s GateSizing) Split() (exclusivePerChannel, requiredFloating, maxFloating int) {
	if s.Channels <= 0 {
		return 0, 1, max(s.FloatingPerGate, 1)
	}
	insists := s.Channels*s.BuffersPerChannel + 1
	if s.RequiredPerGateMax > 0 {
		insists = min(insists, s.RequiredPerGateMax)
	}
	wants := s.Channels*s.BuffersPerChannel + s.FloatingPerGate
	exclusivePerChannel = min(s.BuffersPerChannel, (insists-1)/s.Channels)
	taken := exclusivePerChannel * s.Channels
	requiredFloating = insists - taken
	return exclusivePerChannel, requiredFloating, max(wants-taken, requiredFloating)
}
