package memory

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrDestroyed is wrapped by the error of every call on a destroyed pool. From a local pool it means that the
	// task is being cancelled (Flink's CancelTaskException).
	ErrDestroyed = errors.New("destroyed")
	// ErrArgument is wrapped when a caller asked for something no pool can do (Flink's IllegalArgumentException).
	ErrArgument = errors.New("illegal argument")
	// ErrQuit is returned by a blocking request whose quit channel was closed.
	ErrQuit = errors.New("the request for a buffer was given up")
	// ErrTimeout is wrapped when a request waited for longer than its timeout.
	ErrTimeout = errors.New("timeout")
)

// message is an error that reads as given and wraps a kind.
type message struct {
	text string
	kind error
}

func (m *message) Error() string { return m.text }
func (m *message) Unwrap() error { return m.kind }

func destroyedError(what string) error {
	return &message{what + " has already been destroyed.", ErrDestroyed}
}

func argumentError(format string, args ...any) error {
	return &message{fmt.Sprintf(format, args...), ErrArgument}
}

// InsufficientError says that the segments promised to all pools and channels would exceed what there is.
type InsufficientError struct {
	Required     int // segments asked for
	Available    int // segments not yet promised to anyone
	Total        int // segments of the global pool
	SegmentBytes int
}

// Error is Flink's text, word for word, so that it can be looked up.
func (e *InsufficientError) Error() string {
	return fmt.Sprintf("Insufficient number of network buffers: required %d, but only %d available. %s.",
		e.Required, e.Available, configDescription(e.Total, e.SegmentBytes))
}

func configDescription(total, segmentBytes int) string {
	return fmt.Sprintf("The total number of network buffers is currently set to %d of %d bytes each. "+
		"You can increase this number by setting the configuration keys '%s', '%s', and '%s'",
		total, segmentBytes, "taskmanager.memory.network.fraction",
		"taskmanager.memory.network.min", "taskmanager.memory.network.max")
}

func timeoutError(asked, got, total, segmentBytes int, after time.Duration) error {
	return &message{fmt.Sprintf("Timeout triggered when requesting exclusive buffers: got %d of %d within %s. %s.",
		got, asked, after, configDescription(total, segmentBytes)), ErrTimeout}
}
