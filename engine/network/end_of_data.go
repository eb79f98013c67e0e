package network

import "fmt"

// EndOfData is what a gate knows of the end of its records (Flink's EndOfDataStatus). It comes before the end of the
// channels: after it only checkpoints do.
type EndOfData uint8

const (
	NotEndOfData EndOfData = iota // a channel has not said that its records are over
	Drained                       // all have, and event time is over too
	Stopped                       // all have, but one of them was stopped: its records go on another time
)

func (e EndOfData) String() string {
	return [...]string{"not yet", "drained", "stopped"}[e]
}

// endOfData counts the channels of a gate that have no more records. Only the consuming task uses it.
type endOfData struct {
	over    []bool
	n       int
	stopped bool
}

// ReceiveEndOfData takes what a channel says after its last record, and tells what is known of all channels now.
func (g *Gate) ReceiveEndOfData(channel int, drain bool) (EndOfData, error) {
	e := &g.ends
	if e.over == nil {
		e.over = make([]bool, len(g.channels))
	}
	if e.over[channel] {
		return NotEndOfData, fmt.Errorf("network: channel %d said twice that its records are over, expected once", channel)
	}
	e.over[channel] = true
	e.n++
	e.stopped = e.stopped || !drain
	return g.EndOfData(), nil
}

// EndOfData is what is known of the end of the records.
func (g *Gate) EndOfData() EndOfData {
	switch e := &g.ends; {
	case e.n < len(g.channels):
		return NotEndOfData
	case e.stopped:
		return Stopped
	}
	return Drained
}
