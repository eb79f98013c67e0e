package task

import (
	"sync"
	"sync/atomic"
	"time"

	"weir/engine/metric"
)

// Mailbox brings everything to a task's goroutine that does not come as a record: checkpoint triggers, timers, knob
// changes (Flink's TaskMailbox and MailboxProcessor). It is also where the task sleeps.
type Mailbox struct {
	mu     sync.Mutex
	mails  []mail
	spare  []mail
	closed bool
	queued atomic.Int32
	// waited is the time that the last mail spent in the box, in ns.
	waited atomic.Int64
	waits  metric.Waits

	_ [128]byte
	// pending tells the task, for one load a record, that there is something to look at.
	pending atomic.Bool
	publish atomic.Bool
	// priority says that the gate has a priority event.
	priority atomic.Bool
	_        [128]byte

	state atomic.Int32
	token chan struct{}
	timer *time.Timer
}

type mail struct {
	run    func()
	posted time.Time
}

// States of the goroutine that parks.
const (
	awake int32 = iota
	sleeping
	tokened // woken before it slept
)

// NewMailbox makes an empty mailbox.
func NewMailbox() *Mailbox { return &Mailbox{token: make(chan struct{}, 1)} }

// Post queues a mail and wakes the task. It is false when the task has ended: the mail will not run.
func (m *Mailbox) Post(run func()) bool {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return false
	}
	m.mails = append(m.mails, mail{run, time.Now()})
	m.queued.Store(int32(len(m.mails)))
	m.pending.Store(true)
	m.mu.Unlock()
	m.Wake()
	return true
}

// RequestPublish asks the task to publish its counters between two records. It costs no allocation and does not wake a
// task that sleeps: such a task has published already.
func (m *Mailbox) RequestPublish() {
	m.publish.Store(true)
	m.pending.Store(true)
}

// WakeForPriority has the task look at the gate's priority events between two records.
func (m *Mailbox) WakeForPriority() {
	m.priority.Store(true)
	m.pending.Store(true)
	m.Wake()
}

// Pending says that there is mail, or a request to publish.
func (m *Mailbox) Pending() bool { return m.pending.Load() }

// take empties the box.
func (m *Mailbox) take() []mail {
	m.mu.Lock()
	m.pending.Store(false)
	mails := m.mails
	m.mails = m.spare[:0]
	m.spare = nil
	m.queued.Store(0)
	m.mu.Unlock()
	return mails
}

// Run runs the mails that are queued, on the task's goroutine.
func (m *Mailbox) Run() {
	mails := m.take()
	for i := range mails {
		wait := int64(time.Since(mails[i].posted))
		m.waited.Store(wait)
		m.waits.Record(wait)
		mails[i].run()
		mails[i] = mail{}
	}
	m.mu.Lock()
	m.spare = mails
	m.mu.Unlock()
}

// Close refuses further mail and drops what is queued.
func (m *Mailbox) Close() {
	m.mu.Lock()
	m.closed = true
	m.mails, m.spare = nil, nil
	m.mu.Unlock()
}

// Len is the number of queued mails; LastWait how long the last one that ran had waited.
func (m *Mailbox) Len() int { return int(m.queued.Load()) }

// LastWait is how long the last mail that ran had waited.
func (m *Mailbox) LastWait() time.Duration { return time.Duration(m.waited.Load()) }

// Waits are how long the mails that ran had waited.
func (m *Mailbox) Waits() *metric.Waits { return &m.waits }

// Wake ends a Park, or the next one if the task is awake. It signals only a task that sleeps.
func (m *Mailbox) Wake() {
	if m.state.Swap(tokened) == sleeping {
		m.token <- struct{}{}
	}
}

// Park sleeps until Wake, for at most d if d is above 0.
func (m *Mailbox) Park(d time.Duration) {
	if !m.state.CompareAndSwap(awake, sleeping) {
		m.state.Store(awake)
		return
	}
	if d <= 0 {
		<-m.token
		m.state.Store(awake)
		return
	}
	if m.timer == nil {
		m.timer = time.NewTimer(d)
	} else {
		m.timer.Reset(d)
	}
	select {
	case <-m.token:
		m.timer.Stop()
	case <-m.timer.C:
		if !m.state.CompareAndSwap(sleeping, awake) {
			<-m.token // a waker was quicker
		}
	}
	m.state.Store(awake)
}
