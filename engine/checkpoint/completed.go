package checkpoint

import (
	"fmt"
	"slices"
)

// The types of a checkpoint, as they stand in the history.
const (
	TypeCheckpoint = "CHECKPOINT"
	TypeSavepoint  = "SAVEPOINT"
)

// TaskID names a subtask.
type TaskID struct {
	Vertex  string
	Subtask int
}

func (t TaskID) String() string { return fmt.Sprintf("%s %d", t.Vertex, t.Subtask) }

// Handle says where the state of a subtask lies. The zero Handle is a subtask without state: it has no file.
type Handle struct {
	File     string // name inside the checkpoint's folder
	Bytes    int64  // length of the file
	Checksum uint32 // CRC-32C of the state in it
}

// Completed is a completed checkpoint: what its metadata says, and a way to the state. Flink's CompletedCheckpoint.
type Completed struct {
	ID          int64
	TimestampMs int64 // wall clock at the trigger, ms since 1970
	Type        string
	// Path is the folder, with which the checkpoint is loaded again. It is not in the metadata: a folder may be moved.
	Path     string
	Vertices []VertexState
	// MetadataBytes is the size of the metadata, once they are written.
	MetadataBytes int64

	open func(h Handle) (*TaskState, error)
}

// VertexState is what a checkpoint holds of a vertex.
type VertexState struct {
	ID             string
	Parallelism    int
	MaxParallelism int
	// MaxParallelismDerived is set when nobody chose the max parallelism: it followed from the parallelism.
	MaxParallelismDerived bool
	Subtasks              []SubtaskState // one per subtask, in order
}

// SubtaskState is what a checkpoint holds of a subtask.
type SubtaskState struct {
	Handle
	// Finished is set when the subtask had ended; the state is its last.
	Finished bool
}

// Vertex finds a vertex by its id.
func (c *Completed) Vertex(id string) (*VertexState, bool) {
	for i := range c.Vertices {
		if c.Vertices[i].ID == id {
			return &c.Vertices[i], true
		}
	}
	return nil, false
}

// StateBytes is the size of all state files.
func (c *Completed) StateBytes() int64 {
	var n int64
	for _, v := range c.Vertices {
		for _, s := range v.Subtasks {
			n += s.Bytes
		}
	}
	return n
}

// State reads the state of a subtask and checks it. A subtask without state gives an empty TaskState.
func (c *Completed) State(vertex string, subtask int) (*TaskState, error) {
	v, ok := c.Vertex(vertex)
	if !ok {
		return nil, fmt.Errorf("checkpoint %d has no vertex %q", c.ID, vertex)
	}
	if subtask < 0 || subtask >= len(v.Subtasks) {
		return nil, fmt.Errorf("checkpoint %d has no subtask %d of %q, expected 0 to %d", c.ID, subtask, vertex, len(v.Subtasks)-1)
	}
	h := v.Subtasks[subtask].Handle
	if h.File == "" {
		return &TaskState{}, nil
	}
	if c.open == nil {
		return nil, fmt.Errorf("checkpoint %d was not stored: %s has no state to read", c.ID, TaskID{vertex, subtask})
	}
	return c.open(h)
}

// CheckVertices refuses a job that has no place for some of the state: vertices are the ids that the job has. A vertex
// that the checkpoint does not know is fine, it starts empty.
func (c *Completed) CheckVertices(vertices []string) error {
	for _, v := range c.Vertices {
		if slices.Contains(vertices, v.ID) {
			continue
		}
		for _, s := range v.Subtasks {
			if s.File != "" {
				return fmt.Errorf("checkpoint %d has state of vertex %q, which the job does not have (it has %q)", c.ID, v.ID, vertices)
			}
		}
	}
	return nil
}
