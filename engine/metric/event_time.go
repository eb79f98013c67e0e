package metric

// EventTime is what a subtask knows of event time. Times are in ms of event time; one that is not known is left out.
type EventTime struct {
	// Watermark is the subtask's own: the least of its channels that take part, or what its source has emitted last.
	Watermark *int64 `json:"watermark,omitempty"`
	Status    string `json:"status"` // ACTIVE IDLE
	// Sent is how many records a source has sent since the job began, those before a restart included.
	Sent    int64           `json:"sent,omitempty"`
	Gates   []GateWatermark `json:"gates,omitempty"`
	Windows *Windows        `json:"windows,omitempty"`
}

// GateWatermark is one input of a subtask.
type GateWatermark struct {
	Index  int    `json:"index"`
	Vertex string `json:"vertex"` // that feeds it
	// Watermark is the least over its channels that take part.
	Watermark *int64             `json:"watermark,omitempty"`
	Channels  []ChannelWatermark `json:"channels"`
}

// ChannelWatermark is what came last in one channel.
type ChannelWatermark struct {
	From      End    `json:"from"`
	Watermark *int64 `json:"watermark,omitempty"`
	Status    string `json:"status"` // ACTIVE IDLE
	// Aligned: it takes part. An active channel that does not has been idle, and has not caught up yet.
	Aligned bool `json:"aligned"`
	// HoldsBack: its watermark is the subtask's, while another that takes part is ahead.
	HoldsBack bool `json:"holdsBack,omitempty"`
}

// Windows is what a window operator keeps, all read at one moment between two records.
type Windows struct {
	// Watermark is the one that the operator's timers went by at that moment.
	Watermark *int64 `json:"watermark,omitempty"`
	// Records came in since the job began: Fired of them were counted by windows that have fired, Late were dropped, and
	// Held are in windows that are open.
	Records int64 `json:"records"`
	Fired   int64 `json:"fired"`
	Late    int64 `json:"late"`
	Held    int64 `json:"held"`
	// NumLateRecordsDropped is Flink's counter: since the start of the subtask.
	NumLateRecordsDropped int64 `json:"numLateRecordsDropped"`
	// Results are the counts that were emitted, one for each key of each window, since the start of the subtask.
	Results int64 `json:"results"`
	// OpenWindows is the number of namespaces in the state; Open lists the first of them by their start.
	OpenWindows int          `json:"openWindows"`
	Open        []OpenWindow `json:"open"`
	// Timers is the number of timers; Next lists the first of them by time.
	Timers int64        `json:"timers"`
	Next   []EventTimer `json:"next"`
}

// OpenWindow is a window in the state: its namespace, from Start to before End.
type OpenWindow struct {
	Start   int64 `json:"start"`
	End     int64 `json:"end"`
	Keys    int64 `json:"keys"`
	Records int64 `json:"records"`
}

// EventTimer is a registered event-time timer.
type EventTimer struct {
	Time     int64  `json:"time"`
	Key      string `json:"key"`
	KeyGroup int    `json:"keyGroup"`
}
