// Package metric holds the readings of a running job: the Snapshot that every page, command and checker reads, and the
// gauges, meters and counters behind it, computed as Flink 2.3 computes them.
package metric

// Snapshot is the one picture of a running job. Times are in ms, sizes in bytes, rates per second.
type Snapshot struct {
	Lab                  string            `json:"lab"`
	State                string            `json:"state"` // CREATED RUNNING RESTARTING FINISHED FAILED CANCELED STOPPED
	TimeMs               int64             `json:"timeMs"`
	Knobs                map[string]any    `json:"knobs"`
	Failure              string            `json:"failure"`
	Restarts             int               `json:"restarts"`
	RestoredCheckpointID int64             `json:"restoredCheckpointId"`
	Vertices             []Vertex          `json:"vertices"`
	Pools                []Pool            `json:"pools"`
	Gates                []Gate            `json:"gates"`
	Channels             []Channel         `json:"channels"`
	Checkpoints          []Checkpoint      `json:"checkpoints"` // newest first, the last 10
	CheckpointCounts     *CheckpointCounts `json:"checkpointCounts,omitempty"`
	DeletedFiles         []DeletedFile     `json:"deletedFiles,omitempty"` // newest first, the last 200
	Diagnosis            *Diagnosis        `json:"diagnosis,omitempty"`
	Totals               Totals            `json:"totals"`
	Life                 Life              `json:"-"`
	TaskManagers         []TaskManager     `json:"-"`
}

// Vertex is one task of the job graph with its subtasks.
type Vertex struct {
	ID                string    `json:"id"`
	Name              string    `json:"name"`
	Parallelism       int       `json:"parallelism"`
	MaxParallelism    int       `json:"maxParallelism"`
	BackpressureLevel string    `json:"backpressureLevel"` // ok low high
	Role              string    `json:"role"`              // cause victim
	Subtasks          []Subtask `json:"subtasks"`
	Operators         []string  `json:"-"` // of its chain; the source is the first
}

// Times are Flink's five time gauges in ms per second.
type Times struct {
	Idle              float64 `json:"idleTimeMsPerSecond"`
	Busy              float64 `json:"busyTimeMsPerSecond"`
	BackPressured     float64 `json:"backPressuredTimeMsPerSecond"`
	SoftBackPressured float64 `json:"softBackPressuredTimeMsPerSecond"`
	HardBackPressured float64 `json:"hardBackPressuredTimeMsPerSecond"`
}

// Rates are the per-second readings that have both a 60 s form (Flink's) and a recent form (over the last second).
type Rates struct {
	Times
	NumRecordsIn       float64 `json:"numRecordsInPerSecond"`
	NumRecordsOut      float64 `json:"numRecordsOutPerSecond"`
	NumBytesOut        float64 `json:"numBytesOutPerSecond"`
	NumBuffersOut      float64 `json:"numBuffersOutPerSecond"`
	NumBuffersInLocal  float64 `json:"numBuffersInLocalPerSecond"`
	NumBuffersInRemote float64 `json:"numBuffersInRemotePerSecond"`
}

// Subtask is one parallel instance of a vertex.
type Subtask struct {
	Index       int    `json:"index"`
	TaskManager int    `json:"taskManager"`
	KeyGroups   [2]int `json:"keyGroups"` // first and last, both inclusive
	Rates
	NumRecordsIn       int64 `json:"numRecordsIn"`
	NumRecordsOut      int64 `json:"numRecordsOut"`
	NumBytesIn         int64 `json:"numBytesIn"`
	NumBytesInLocal    int64 `json:"numBytesInLocal,omitempty"`
	NumBytesInRemote   int64 `json:"numBytesInRemote,omitempty"`
	NumBytesOut        int64 `json:"numBytesOut"`
	NumBuffersOut      int64 `json:"numBuffersOut"`
	NumBuffersInLocal  int64 `json:"numBuffersInLocal"`
	NumBuffersInRemote int64 `json:"numBuffersInRemote"`

	OutPoolUsage                  float64 `json:"outPoolUsage"`
	OutPoolUsageMax               float64 `json:"outPoolUsageMax"` // the highest of the last 5 s
	InPoolUsage                   float64 `json:"inPoolUsage"`
	InputExclusiveBuffersUsage    float64 `json:"inputExclusiveBuffersUsage"`
	InputFloatingBuffersUsage     float64 `json:"inputFloatingBuffersUsage"`
	DebloatedBufferSize           int     `json:"debloatedBufferSize,omitempty"`
	EstimatedTimeToConsumeBuffers int64   `json:"estimatedTimeToConsumeBuffersMs,omitempty"`

	PendingRecords        int64    `json:"pendingRecords"`
	LatencyMs             *Latency `json:"latencyMs,omitempty"` // from emission by the source; only where it is measured
	LatencyBuckets        []Bucket `json:"latencyBuckets,omitempty"`
	MeanFill              float64  `json:"meanFill"` // mean bytes of the buffers that left the queues in the last second, as a share of the segment
	MailboxQueueSize      int      `json:"mailboxQueueSize"`
	MailboxLatencyMs      float64  `json:"mailboxLatencyMs"`
	CurrentInputWatermark int64    `json:"currentInputWatermark,omitempty"`
	Recent                Rates    `json:"recent"`
	State                 *State   `json:"state,omitempty"`
	// EventTime is left out where no watermark has come.
	EventTime *EventTime `json:"eventTime,omitempty"`

	// IsBackPressured says whether the task has no output buffer ready at this moment.
	IsBackPressured bool         `json:"isBackPressured,omitempty"`
	Accumulated     *Accumulated `json:"accumulated,omitempty"`
	Reported        *Reported    `json:"-"`
}

// Accumulated are times since the start of a subtask, and its longest single waits of the last 5 s, all in ms.
type Accumulated struct {
	Idle          int64 `json:"accumulateIdleTimeMs"`
	Busy          int64 `json:"accumulateBusyTimeMs"`
	BackPressured int64 `json:"accumulateBackPressuredTimeMs"`
	MaxSoftMs     int64 `json:"maxSoftBackPressureTimeMs"`
	MaxHardMs     int64 `json:"maxHardBackPressureTimeMs"`
}

// Latency is a summary of a histogram.
type Latency struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
	// Count is how many latencies were recorded since the start; 0 if that is not known.
	Count int64 `json:"count,omitempty"`
	// Quantiles are those of Flink's summaries.
	Quantiles [len(summaryQuantiles)]float64 `json:"-"`
}

// State tells about the keyed state of a subtask.
type State struct {
	Keys           int64 `json:"keys"`
	Bytes          int64 `json:"bytes"`
	RestoredKeys   int64 `json:"restoredKeys"`
	KeysOutOfRange int64 `json:"keysOutOfRange"`
	// Restore says which way the state came back: which files were opened, what was cut off, what was taken in.
	Restore string `json:"restore"`
	// Restored is the same by its parts; nil of a job that began without state.
	Restored       *Restored `json:"restored,omitempty"`
	DroppedExpired int64     `json:"droppedExpired"`
	// DroppedInBackground are those of them that cleanup or compaction removed, and no read came upon.
	DroppedInBackground int64    `json:"droppedInBackground,omitempty"`
	TTL                 *TTL     `json:"ttl,omitempty"`
	InPlace             *InPlace `json:"inPlace,omitempty"`
	Backend             string   `json:"backend,omitempty"`
	Heap                *Heap    `json:"heap,omitempty"`
	LSM                 *LSM     `json:"lsm,omitempty"`
}

// InPlace tells about changes of values that were not put back.
type InPlace struct {
	Tried int64 `json:"tried"` // that were looked at again, one of many
	Kept  int64 `json:"kept"`  // that the next read of the key saw
}

// TTL tells about the values of a state with a time to live.
type TTL struct {
	Live    int64 `json:"live"`    // that a read would give; -1 where there are too many to look at
	Expired int64 `json:"expired"` // that no read gives any more, but that are still stored
	// OldestReadMs is the age, since it was last written, of the oldest value that a read gave over the last seconds.
	OldestReadMs int64 `json:"oldestReadMs"`
	Reads        int64 `json:"reads"`  // of keys that are only read
	Begun        int64 `json:"begun"`  // values that were written where there was none, or none any more
	TooOld       int64 `json:"tooOld"` // values that were given although, by their own time, they had expired: a fault
}

// Heap tells about the copy-on-write maps of a subtask.
type Heap struct {
	// CopiedByReads are entries that were copied because they were read, CopiedByWrites because they were written.
	CopiedByReads  int64 `json:"copiedByReads"`
	CopiedByWrites int64 `json:"copiedByWrites"`
	// HeldEntries are old ones that are kept for snapshots now, HeldBytes about what they take.
	HeldEntries int64 `json:"heldEntries"`
	HeldBytes   int64 `json:"heldBytes"`
	// PeakHeldEntries is the highest HeldEntries that was read.
	PeakHeldEntries int64 `json:"peakHeldEntries"`
	Version         int64 `json:"version"` // the highest of its maps
	Copies          int64 `json:"copies"`  // entries and values copied because a snapshot was open
	Snapshots       int   `json:"snapshots"`
}

// LSM tells about the tree of a subtask.
type LSM struct {
	MemtableBytes int64      `json:"memtableBytes"`
	Levels        []LSMLevel `json:"levels"` // 0 to 6
	Flushes       int64      `json:"flushes"`
	Compactions   int64      `json:"compactions"`
	LiveBytes     int64      `json:"liveBytes"` // of the tables, in the subtask's key groups
	CacheBytes    int64      `json:"cacheBytes"`

	// BudgetBytes is what all stores of the task manager share: CacheBytes, CacheHits and CacheMisses are of all of them too.
	// One memtable of this store may grow to MemtableLimitBytes.
	BudgetBytes        int64 `json:"budgetBytes"`
	MemtableLimitBytes int64 `json:"memtableLimitBytes"`
	MemtableWritten    int64 `json:"memtableWrittenBytes"` // since the last flush: keys and values, without what the memtable adds
	CacheHits          int64 `json:"cacheHits"`
	CacheMisses        int64 `json:"cacheMisses"`

	FlushedBytes      int64   `json:"flushedBytes"`
	CompactedInBytes  int64   `json:"compactedInBytes"`
	CompactedOutBytes int64   `json:"compactedOutBytes"`
	ReadAmplification float64 `json:"readAmplification"`

	// What the task asked of the store since it was opened: reads and writes, the bytes of their keys, of the values that were
	// read and of those that were written, and how often the current key's part of the keys was built.
	Gets        int64 `json:"gets"`
	Puts        int64 `json:"puts"`
	KeyBytes    int64 `json:"keyBytes"`
	ReadBytes   int64 `json:"readBytes"`
	WriteBytes  int64 `json:"writeBytes"`
	PrefixBuilt int64 `json:"prefixBuilt"`

	States []LSMState `json:"states,omitempty"` // by name
}

// LSMState is one state in the store.
type LSMState struct {
	Name    string `json:"name"`
	ID      int    `json:"id"` // its number in the keys
	Kind    string `json:"kind"`
	Entries int64  `json:"entries"`
	Bytes   int64  `json:"bytes"`
}

// Restored tells which way the keyed state of a subtask came back. Key groups are half open, [from, to).
type Restored struct {
	// Path is same (the files of one handle are opened), clipped (what is not the subtask's is cut off them), merged (others
	// are taken in too), or read (key group by key group, in the format of every backend).
	Path    string           `json:"path"`
	Clips   [][2]int         `json:"clips,omitempty"` // what was cut off the base
	Handles []RestoredHandle `json:"handles"`
}

// RestoredHandle is the keyed state of one old subtask that met the new one's key groups.
type RestoredHandle struct {
	Subtask   int    `json:"subtask"` // the old one
	KeyGroups [2]int `json:"keyGroups"`
	Taken     [2]int `json:"taken"`
	How       string `json:"how"`              // base ingested copied read
	Tables    int    `json:"tables,omitempty"` // taken in by reference
	Bytes     int64  `json:"bytes"`            // of the handle; of one that is read, of the part
}

// LSMLevel is one level of the tree.
type LSMLevel struct {
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
}

// Pool is one local buffer pool.
type Pool struct {
	Owner           string `json:"owner"` // such as "source 0 out" or "slow-map 1 in"
	Size            int    `json:"size"`
	Max             int    `json:"max"`
	Requested       int    `json:"requested"` // segments taken from the global pool
	OverdraftInUse  int    `json:"overdraftInUse"`
	Available       int    `json:"available"` // segments that lie ready
	PerSubpartition []int  `json:"perSubpartition,omitempty"`
}

// Gate is one input gate.
type Gate struct {
	Vertex        string `json:"vertex"`
	Subtask       int    `json:"subtask"`
	Index         int    `json:"index"`
	FloatingFree  int    `json:"floatingFree"`
	FloatingTotal int    `json:"floatingTotal"`
}

// End names a subtask of a vertex.
type End struct {
	Vertex  string `json:"vertex"`
	Subtask int    `json:"subtask"`
}

// Channel is one logical channel with both its ends.
type Channel struct {
	From            End          `json:"from"`
	To              End          `json:"to"`
	Kind            string       `json:"kind"` // local remote
	Producer        ProducerEnd  `json:"producer"`
	Consumer        *ConsumerEnd `json:"consumer,omitempty"`
	SentAddCredit   int64        `json:"sentAddCredit"`   // AddCredit messages
	AnnouncedCredit int64        `json:"announcedCredit"` // credits in them
	SentBuffers     int64        `json:"sentBuffers"`
	SentEvents      int64        `json:"sentEvents"`
	Overtaken       int64        `json:"overtaken"`
}

// ProducerEnd is the subpartition's side.
type ProducerEnd struct {
	Buffers int   `json:"buffers"` // queued data buffers, the one being written included
	Bytes   int64 `json:"bytes"`
	Backlog int   `json:"backlog"`
	Fill    []int `json:"fill"` // bytes of each queued buffer, oldest first; -1 an event
	Credit  int   `json:"credit"`
	Blocked bool  `json:"blocked,omitempty"` // by an aligned barrier
}

// ConsumerEnd is the input channel's side; a local channel has only what it reads.
type ConsumerEnd struct {
	Queued            int   `json:"queued"`
	QueuedBytes       int64 `json:"queuedBytes"`
	Fill              []int `json:"fill"` // bytes of each queued buffer, oldest first; -1 an event
	ExclusiveFree     int   `json:"exclusiveFree"`
	FloatingHeld      int   `json:"floatingHeld"` // borrowed from the gate's pool, free or with data
	UnannouncedCredit int   `json:"unannouncedCredit"`
}

// Checkpoint is one checkpoint of the job's history.
type Checkpoint struct {
	ID                 int64               `json:"id"`
	Status             string              `json:"status"`    // IN_PROGRESS COMPLETED FAILED
	Type               string              `json:"type"`      // CHECKPOINT SAVEPOINT
	TriggerMs          int64               `json:"triggerMs"` // job time at which it was triggered
	EndToEndDurationMs int64               `json:"endToEndDurationMs"`
	CheckpointedBytes  int64               `json:"checkpointedBytes"`
	StateBytes         int64               `json:"stateBytes"`
	ProcessedBytes     int64               `json:"processedBytes"`
	PersistedBytes     int64               `json:"persistedBytes"`
	Path               string              `json:"path"`
	Failure            string              `json:"failure"`
	NotificationLost   bool                `json:"notificationLost,omitempty"` // it is complete, and no task heard of it
	Subtasks           []SubtaskCheckpoint `json:"subtasks,omitempty"`
	SharedFiles        []SharedFile        `json:"sharedFiles,omitempty"`
}

// SharedFile is what a checkpoint did with one file of a state backend.
type SharedFile struct {
	Vertex          string `json:"vertex"`
	Subtask         int    `json:"subtask"`
	Name            string `json:"name"`           // in the backend's own folder
	Origin          string `json:"origin"`         // the backend's life that gave the name: the next one gives it to other bytes
	File            string `json:"file,omitempty"` // in the folder of shared files
	Bytes           int64  `json:"bytes"`
	State           string `json:"state"`           // uploaded reused inlined
	FirstCheckpoint int64  `json:"firstCheckpoint"` // that stored it
}

// DeletedFile is a file of the shared folder that is gone, and why.
type DeletedFile struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	// Checkpoint is the one that had the file deleted.
	Checkpoint int64 `json:"checkpoint"`
	// Because is subsumed (that checkpoint is complete, and no retained one refers to the file), failed or late (the
	// checkpoint stored the file and was given up, or the part came after that).
	Because string `json:"because"`
	AtMs    int64  `json:"atMs"`
	// Vertex, Subtask, Name and Origin are those of the backend's file, where they are known.
	Vertex  string `json:"vertex,omitempty"`
	Subtask int    `json:"subtask"`
	Name    string `json:"name,omitempty"`
	Origin  string `json:"origin,omitempty"`
}

// CheckpointCounts count the checkpoints since the start of the job, those that left the history included.
type CheckpointCounts struct {
	Total      int64 `json:"total"`
	Completed  int64 `json:"completed"`
	Failed     int64 `json:"failed"`
	InProgress int64 `json:"inProgress"`
}

// SubtaskCheckpoint is one subtask's part of a checkpoint.
type SubtaskCheckpoint struct {
	Vertex            string  `json:"vertex"`
	Subtask           int     `json:"subtask"`
	StartDelayMs      float64 `json:"startDelayMs"`
	AlignmentMs       float64 `json:"alignmentMs"`
	SyncMs            float64 `json:"syncMs"`
	AsyncMs           float64 `json:"asyncMs"`
	EndToEndMs        float64 `json:"endToEndMs"`
	CheckpointedBytes int64   `json:"checkpointedBytes"`
	ProcessedBytes    int64   `json:"processedBytes"`
	PersistedBytes    int64   `json:"persistedBytes"`
	Acknowledged      bool    `json:"acknowledged"`
}

// Diagnosis names the bottleneck.
type Diagnosis struct {
	Bottleneck string   `json:"bottleneck"` // a vertex id, or empty
	Because    string   `json:"because"`
	Advice     []string `json:"advice"`
}

// Totals are sums over the job.
type Totals struct {
	RecordsEmitted   int64            `json:"recordsEmitted"`
	RecordsProcessed int64            `json:"recordsProcessed"`
	CountsByKey      map[string]int64 `json:"countsByKey,omitempty"` // left out above 1000 keys
}
