package network

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"sync/atomic"
)

// ErrPartitionNotFound is wrapped when a task manager does not have a partition (Flink's PartitionNotFoundException). A
// PartitionProvider wraps it too, so that the request may wait for the partition.
var ErrPartitionNotFound = errors.New("network: partition not found")

var (
	channelIDUpper = func() (b [8]byte) { rand.Read(b[:]); return b }()
	channelIDLower atomic.Uint64
)

// newChannelID is unique in this process, and very likely among all of a job.
func newChannelID() (id ChannelID) {
	copy(id[:8], channelIDUpper[:])
	binary.BigEndian.PutUint64(id[8:], channelIDLower.Add(1))
	return id
}

// VertexID is the 16-byte id that stands on the wire for a vertex (Flink's JobVertexID). Flink derives its ids from the
// job graph; Weir derives it from the vertex's name, so that both ends know it without asking.
func VertexID(name string) (id [16]byte) {
	sum := sha256.Sum256([]byte(name))
	copy(id[:], sum[:])
	return id
}

// partitionRequest is what asks for one subpartition. The data set is the vertex's one output.
func partitionRequest(p PartitionID, subpartition int, receiver ChannelID, credit int) PartitionRequest {
	id := VertexID(p.Vertex)
	return PartitionRequest{
		DataSet: id, JobVertex: id, Partition: int32(p.Subtask), Subtask: int32(p.Subtask), Attempt: int32(p.Attempt),
		SubpartitionStart: int32(subpartition), SubpartitionEnd: int32(subpartition), Receiver: receiver, Credit: int32(credit),
	}
}
