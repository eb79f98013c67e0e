package network

// entryQueue is a ring of entries that grows and never shrinks; it holds about ten in a healthy job.
type entryQueue struct {
	ring []entry
	head int
	n    int
}

func (q *entryQueue) len() int { return q.n }

func (q *entryQueue) at(i int) *entry { return &q.ring[(q.head+i)&(len(q.ring)-1)] }

func (q *entryQueue) front() *entry { return q.at(0) }

func (q *entryQueue) back() *entry { return q.at(q.n - 1) }

func (q *entryQueue) grow() {
	if q.n < len(q.ring) {
		return
	}
	ring := make([]entry, max(16, 2*len(q.ring)))
	for i := range q.n {
		ring[i] = *q.at(i)
	}
	q.ring, q.head = ring, 0
}

func (q *entryQueue) pushBack(e entry) {
	q.grow()
	q.n++
	*q.back() = e
}

// insert puts e at position i, moving those behind it.
func (q *entryQueue) insert(i int, e entry) {
	q.pushBack(e)
	for j := q.n - 1; j > i; j-- {
		*q.at(j) = *q.at(j - 1)
	}
	*q.at(i) = e
}

// remove takes out the entry at position i.
func (q *entryQueue) remove(i int) entry {
	e := *q.at(i)
	for ; i < q.n-1; i++ {
		*q.at(i) = *q.at(i + 1)
	}
	*q.back() = entry{}
	q.n--
	return e
}

func (q *entryQueue) popFront() entry {
	e := *q.front()
	*q.front() = entry{}
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	return e
}
