// Package task runs one subtask: the mailbox loop, sources and operators, the output flusher, and the debloater.
package task

// The claim modes: values of Settings.ClaimMode.
const (
	NoClaim = "no_claim" // what was restored stays its owner's: the first checkpoint stores everything anew
	Claim   = "claim"    // it becomes the job's: later checkpoints refer to its files, and it is deleted when it is subsumed
)

// What begins the time of a value with a TTL anew: values of Settings.TtlUpdate (Flink's StateTtlConfig.UpdateType).
const (
	TTLOnWrite = "write" // writing it
	TTLOnRead  = "read"  // reading it too
)

// Settings are the engine's knobs, typed; each field is the knob of the same name in lower camel case. A job holds one
// value and sends a new one to its tasks as mail, so that a change applies between two records.
type Settings struct {
	// Load.
	Rate        float64 // records/s of all source subtasks together; 0 is unlimited
	RecordBytes int     // length of the payload's characters, so that the flagship's 256 give about 270 bytes on the wire
	Keys        int64
	KeyType     string // long int string bool double
	HotKeyShare float64
	WorkMs      float64
	WorkKind    string // sleep cpu
	WorkOn      string // all hot
	SinkWorkMs  float64
	FanOut      int
	TwoStage    bool // pre-aggregate under a salted key, then aggregate again by the key itself
	Seed        int64
	// MeasureLatency stamps each record with the time of its emission, in ns, for the latency histograms of the tasks that
	// receive it. The stamp takes 8 bytes of each record on the wire, and a look at the clock at both ends.
	MeasureLatency bool

	// Event time.
	WindowMs            int    // length of the tumbling windows
	DisorderMs          int    // by up to so much the event times of a source's records lie behind the newest
	OutOfOrdernessMs    int    // by so much a watermark stays behind the newest event time
	WatermarkIntervalMs int    // how often a source is asked for its watermark
	IdleInput           string // the source vertex that sends nothing; none
	IdleTimeoutMs       int    // a source that has sent nothing for so long counts as idle; 0 is never

	// Job.
	Parallelism    int
	MaxParallelism int // 0 is derived
	TaskManagers   int
	Chaining       bool
	Exchange       string // hash rebalance rescale broadcast forward; of labs that let one choose

	// After a failure.
	RestartStrategy string // none fixed-delay exponential-delay
	RestartAttempts int    // how often fixed-delay restarts
	RestartDelayMs  int    // of fixed-delay before each restart, of exponential-delay before the first

	// Network.
	Transport                 string // tcp memory
	FlowControl               string // credit tcp; without credit one connection's channels wait for each other
	WireBytesPerSecond        int64  // of each end of each connection; 0 is unlimited
	BufferTimeoutMs           int    // 0 after each record, -1 only full buffers
	Debloat                   bool
	DebloatTargetMs           int
	DebloatPeriodMs           int
	DebloatThresholdPercent   int
	ExclusiveBuffers          int
	FloatingBuffers           int
	MaxBuffersPerSubpartition int
	OverdraftBuffers          int
	SegmentBytes              int
	NetworkMemoryBytes        int64

	// Checkpoints.
	CheckpointIntervalMs int // 0 is off
	CheckpointTimeoutMs  int
	MinPauseMs           int
	ToleratedFailures    int
	RetainedCheckpoints  int
	CheckpointMode       string // aligned unaligned
	AlignedTimeoutMs     int    // with unaligned: stays aligned until so long after the trigger; 0 is unaligned at once
	CheckpointStorage    string // file memory
	InlineThresholdBytes int64  // shorter files of a backend lie in the checkpoint itself
	FailUploadEvery      int    // of what is stored of keyed state, every so many fail; 0 is none
	LoseNotifications    bool   // no task hears that a checkpoint is complete
	ClaimMode            string // no_claim claim; of what a start, a restart or a rescale restores

	// State.
	Backend           string // hashmap lsm
	Incremental       bool   // a backend with files uploads those that are new
	StateBytesPerKey  int    // beside the count
	TtlMs             int    // after which a value expires; 0 is never
	TtlUpdate         string // write read: what begins a value's time anew
	TtlCleanupEntries int    // of hashmap, that each access looks at beside its own, to remove the expired
	// InPlaceUpdate: a value that was read is changed and not put back.
	InPlaceUpdate bool
	// ReadOnlyShare is the share of the keys whose values are written once, and only read from then on.
	ReadOnlyShare       float64
	SnapshotCompression bool // of key groups that are written one by one
	// SnapshotBytesPerSecond is how fast each subtask's state is written; 0 is as fast as it goes.
	SnapshotBytesPerSecond int64
	MemoryBudgetBytes      int64 // of each task manager, for the caches and memtables of lsm
}

// NoInput is the value of Settings.IdleInput with which every source sends.
const NoInput = "none"

// Defaults returns Flink 2.3's values, and the flagship's load.
func Defaults() Settings {
	return Settings{
		Rate: 20000, RecordBytes: 256, Keys: 128, KeyType: "long", WorkKind: "sleep", WorkOn: "all", FanOut: 1, Seed: 1,
		WindowMs: 5000, WatermarkIntervalMs: 200, IdleInput: NoInput,
		Parallelism: 2, TaskManagers: 2, Chaining: true, Exchange: "hash",
		RestartStrategy: "exponential-delay", RestartAttempts: 1, RestartDelayMs: 1000,
		Transport: "tcp", FlowControl: "credit", BufferTimeoutMs: 100,
		DebloatTargetMs: 1000, DebloatPeriodMs: 200, DebloatThresholdPercent: 25,
		ExclusiveBuffers: 2, FloatingBuffers: 8, MaxBuffersPerSubpartition: 10, OverdraftBuffers: 20,
		SegmentBytes: 32 << 10, NetworkMemoryBytes: 64 << 20,
		CheckpointIntervalMs: 5000, CheckpointTimeoutMs: 600000, RetainedCheckpoints: 1, CheckpointMode: "aligned", CheckpointStorage: "file",
		InlineThresholdBytes: 20 << 10, ClaimMode: NoClaim,
		Backend: HashMap, Incremental: true, MemoryBudgetBytes: 64 << 20, TtlUpdate: TTLOnWrite, TtlCleanupEntries: 5,
	}
}
