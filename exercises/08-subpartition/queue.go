package subpartition

import (
	"fmt"
	"strconv"

	"weir/engine/network"
	"weir/exercises/calls"
)

var kinds = []string{"None", "Data", "Event", "Barrier", "Priority"}

func kindName(k network.QueueKind) string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return fmt.Sprintf("kind %d", k)
}

// queue takes the calls of a script or a history, for a learner's subpartition or the engine's. It numbers the entries, and
// keeps to the rules: only the newest data buffer is written, and it is finished before anything else is added.
type queue struct {
	network.SubpartitionCore
	next  int
	open  bool // the newest data buffer is unfinished
	bytes int  // in it

	// finishes is set for histories: Add and Finish first finish what is open.
	finishes bool
	told     bool // the reader knows that there is something to read
	notified bool // by the last call
}

// Do implements calls.Subject.
func (q *queue) Do(c calls.Call) string {
	q.notified = false
	switch c.Name {
	case "Add":
		return q.add(c)
	case "Write": // of a history: so many bytes more
		if q.open {
			q.bytes += c.Int(0)
			q.Written(q.bytes, false)
		}
	case "Written":
		q.Written(c.Int(0), c.Bool(1))
	case "Finish":
		q.finish()
	case "Flush":
		return q.notify(q.Flush())
	case "Poll":
		return q.poll()
	case "Resume":
		q.Resume()
		q.told = q.Available(true)
	case "Available":
		return strconv.FormatBool(q.Available(c.Bool(0)))
	case "Backlog":
		return strconv.Itoa(q.Backlog())
	}
	return ""
}

func (q *queue) add(c calls.Call) string {
	if q.finishes {
		q.finish()
	}
	// Scripts name the entry, histories leave it to the queue.
	id, word := q.next, ""
	for i, a := range c.Args {
		if i == len(c.Args)-1 {
			word = a
		} else {
			id = c.Int(i)
		}
	}
	q.next++
	for k, name := range kinds {
		if name == word {
			if k == int(network.DataKind) {
				q.open, q.bytes = true, 0
			}
			return q.notify(q.Add(id, network.QueueKind(k)))
		}
	}
	return "no such kind: " + word
}

func (q *queue) finish() {
	if q.open {
		q.Written(q.bytes, true)
		q.open = false
	}
}

func (q *queue) notify(n bool) string {
	q.notified = n
	return strconv.FormatBool(n)
}

func (q *queue) poll() string {
	p, ok := q.Poll()
	if !ok {
		q.told = false
		return "nothing"
	}
	q.told = p.Next != network.NoKind
	s := fmt.Sprintf("{ID %d, Bytes %d", p.ID, p.Bytes)
	if p.Gone {
		s += ", Gone"
	}
	return s + fmt.Sprintf(", Backlog %d, Next %s}", p.Backlog, kindName(p.Next))
}
