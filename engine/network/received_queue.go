package network

// receivedQueue has the buffers that came for a channel, priority events before the others (Flink's PrioritizedDeque).
// It is a ring that grows; in steady state nothing is allocated. The owner's lock guards it.
type receivedQueue struct {
	ring     []Buffer // a power of two
	head, n  int
	priority int // of the first n
	bytes    int64
}

func (q *receivedQueue) len() int { return q.n }

// at is element i from the head.
func (q *receivedQueue) at(i int) *Buffer { return &q.ring[(q.head+i)&(len(q.ring)-1)] }

func (q *receivedQueue) grow() {
	if q.n < len(q.ring) {
		return
	}
	ring := make([]Buffer, max(16, 2*len(q.ring)))
	for i := range q.n {
		ring[i] = *q.at(i)
	}
	q.ring, q.head = ring, 0
}

func (q *receivedQueue) push(b Buffer) {
	q.grow()
	*q.at(q.n) = b
	q.n++
	q.bytes += int64(len(b.Bytes))
}

// pushPriority puts an event behind the other priority events, before all else.
func (q *receivedQueue) pushPriority(b Buffer) {
	q.grow()
	for i := q.n; i > q.priority; i-- {
		*q.at(i) = *q.at(i - 1)
	}
	*q.at(q.priority) = b
	q.n++
	q.priority++
	q.bytes += int64(len(b.Bytes))
}

func (q *receivedQueue) pop() (b Buffer, ok bool) {
	if q.n == 0 {
		return b, false
	}
	b = *q.at(0)
	*q.at(0) = Buffer{}
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	if q.priority > 0 {
		q.priority--
	}
	q.bytes -= int64(len(b.Bytes))
	return b, true
}

// fill lists the bytes of each element, -1 for an event.
func (q *receivedQueue) fill() []int {
	fill := make([]int, q.n)
	for i := range fill {
		if b := q.at(i); b.IsData() {
			fill[i] = len(b.Bytes)
		} else {
			fill[i] = -1
		}
	}
	return fill
}

// remove takes out the element with a sequence number that is not a priority one.
func (q *receivedQueue) remove(seq int32) (b Buffer, ok bool) {
	for i := q.priority; i < q.n; i++ {
		if q.at(i).Seq != seq {
			continue
		}
		b = *q.at(i)
		for ; i < q.n-1; i++ {
			*q.at(i) = *q.at(i + 1)
		}
		*q.at(q.n - 1) = Buffer{}
		q.n--
		q.bytes -= int64(len(b.Bytes))
		return b, true
	}
	return b, false
}

// find is the position of the element with a sequence number that is not a priority one, or the length.
func (q *receivedQueue) find(seq int32) int {
	for i := q.priority; i < q.n; i++ {
		if q.at(i).Seq == seq {
			return i
		}
	}
	return q.n
}

// data counts the data buffers before a position.
func (q *receivedQueue) data(end int) int {
	n := 0
	for i := q.priority; i < end; i++ {
		if q.at(i).IsData() {
			n++
		}
	}
	return n
}
