package labs

import (
	"fmt"
	"slices"
	"time"

	"weir/engine/network"
	"weir/engine/operator"
)

// probes are what a lab's graph has built in beside the readings that every job has.
type probes struct {
	loads []vertexLoad
}

// vertexLoad are the counts by key group of one vertex.
type vertexLoad struct {
	vertex string
	loads  *operator.GroupLoads
}

// KeyLoad is what the key groups and the subtasks of one vertex received since the job's last start.
type KeyLoad struct {
	Vertex         string         `json:"vertex"`
	MaxParallelism int            `json:"maxParallelism"`
	Groups         []KeyGroupLoad `json:"groups"`   // by group; without those that received nothing
	LeftOut        int            `json:"leftOut"`  // groups with few records, beyond the most that are listed
	Subtasks       []SubtaskLoad  `json:"subtasks"` // by index
	// Skew is the fullest subtask's records against the mean.
	Skew float64 `json:"skew"`
	// Hottest is the group with the most records, -1 without any.
	Hottest int `json:"hottest"`
}

// KeyGroupLoad is one key group's part.
type KeyGroupLoad struct {
	operator.GroupCount
	Share float64 `json:"share"` // of the vertex's records
}

// SubtaskLoad is one subtask's part.
type SubtaskLoad struct {
	Subtask int     `json:"subtask"`
	Groups  int     `json:"groups"` // that received anything
	Records int64   `json:"records"`
	Bytes   int64   `json:"bytes"`
	Share   float64 `json:"share"`
}

// groupsListed bounds the list of a vertex's groups.
const groupsListed = 512

// keyLoads sums up the counts; parallelism gives the number of subtasks of a vertex.
func (p *probes) keyLoads(parallelism func(vertex string) int) []KeyLoad {
	var list []KeyLoad
	for _, v := range p.loads {
		counts, groups := v.loads.Counts()
		k := KeyLoad{Vertex: v.vertex, MaxParallelism: groups, Groups: []KeyGroupLoad{}, Subtasks: make([]SubtaskLoad, parallelism(v.vertex)), Hottest: -1}
		var total, most int64
		for _, c := range counts {
			total += c.Records
			if c.Records > most {
				most, k.Hottest = c.Records, c.Group
			}
		}
		for i := range k.Subtasks {
			k.Subtasks[i].Subtask = i
		}
		for _, c := range counts {
			k.Groups = append(k.Groups, KeyGroupLoad{c, float64(c.Records) / float64(total)})
			if c.Subtask < len(k.Subtasks) {
				s := &k.Subtasks[c.Subtask]
				s.Groups++
				s.Records += c.Records
				s.Bytes += c.Bytes
			}
		}
		most = 0
		for i := range k.Subtasks {
			most = max(most, k.Subtasks[i].Records)
			if total > 0 {
				k.Subtasks[i].Share = float64(k.Subtasks[i].Records) / float64(total)
			}
		}
		if total > 0 {
			k.Skew = float64(most) * float64(len(k.Subtasks)) / float64(total)
		}
		if n := len(k.Groups); n > groupsListed {
			slices.SortFunc(k.Groups, func(a, b KeyGroupLoad) int { return int(b.Records - a.Records) })
			k.Groups, k.LeftOut = k.Groups[:groupsListed], n-groupsListed
			slices.SortFunc(k.Groups, func(a, b KeyGroupLoad) int { return a.Group - b.Group })
		}
		list = append(list, k)
	}
	return list
}

// Frame is a decoded frame between two task managers, with the books of both ends before and after it.
type Frame struct {
	Number       int64  `json:"number"` // in the order of sending
	Kind         string `json:"kind"`   // such as BufferResponse or AddCredit
	FromProducer bool   `json:"fromProducer"`
	// The two ends, such as "source 0" and "slow-map 0".
	Producer string `json:"producer"`
	Consumer string `json:"consumer"`
	// SentMs and ReceivedMs are job times; ReceivedMs is -1 while the frame is on its way.
	SentMs     float64 `json:"sentMs"`
	ReceivedMs float64 `json:"receivedMs"`
	// Type of the buffer or event, its sequence number and payload bytes, for a BufferResponse.
	Type    string `json:"type,omitempty"`
	IsEvent bool   `json:"isEvent,omitempty"`
	Seq     int32  `json:"seq"`
	Bytes   int32  `json:"bytes"`
	Backlog int32  `json:"backlog"`
	Credit  int32  `json:"credit"`

	ProducerBefore network.ProducerLedger `json:"producerBefore"`
	ProducerAfter  network.ProducerLedger `json:"producerAfter"`
	ConsumerBefore network.ConsumerLedger `json:"consumerBefore"`
	ConsumerAfter  network.ConsumerLedger `json:"consumerAfter"`
}

// Comparisons returns what was measured under each setting of the knobs that the lab sets side by side, in the order of
// their first use; those of the present load.
func (r *Run) Comparisons() []Comparison {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.evidence.Comparisons()
}

// KeyLoads returns the load of key groups and subtasks, for the vertices where the lab counts it.
func (r *Run) KeyLoads() []KeyLoad {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.probes == nil || len(r.probes.loads) == 0 {
		return nil
	}
	s := r.job.Snapshot()
	return r.probes.keyLoads(func(vertex string) int {
		for i := range s.Vertices {
			if s.Vertices[i].ID == vertex {
				return len(s.Vertices[i].Subtasks)
			}
		}
		return 0
	})
}

// Frames returns the last frames between the task managers in the order of sending, at most n of them; none where the lab
// keeps no frames.
func (r *Run) Frames(n int) []Frame {
	events := r.frames.Frames()
	if len(events) > n {
		events = events[len(events)-n:]
	}
	r.mu.Lock()
	zero := float64(time.Now().UnixNano())/1e6 - float64(r.job.Snapshot().TimeMs+r.offsetMs)
	r.mu.Unlock()
	list := make([]Frame, 0, len(events))
	for i := range events {
		e := &events[i]
		f := Frame{Number: e.Number, Kind: e.Kind.String(), FromProducer: e.FromProducer, Producer: fmt.Sprintf("%s %d", e.Partition.Vertex, e.Partition.Subtask),
			Consumer: e.Consumer, SentMs: float64(e.SentNs)/1e6 - zero, ReceivedMs: -1, Seq: e.Seq, Bytes: e.Bytes, Backlog: e.Backlog, Credit: e.Credit,
			ProducerBefore: e.ProducerBefore, ProducerAfter: e.ProducerAfter, ConsumerBefore: e.ConsumerBefore, ConsumerAfter: e.ConsumerAfter}
		if e.ReceivedNs > 0 {
			f.ReceivedMs = float64(e.ReceivedNs)/1e6 - zero
		}
		if e.Kind == network.MsgBufferResponse {
			f.Type, f.IsEvent = e.Type.String(), e.Type.IsEvent()
		}
		list = append(list, f)
	}
	return list
}
