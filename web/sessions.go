package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weir/engine/metric"
	"weir/engine/trace"
	"weir/labs"
)

// Limits of one server. A running flagship takes under 40 MB and a fifth of a core for its timers and sockets, so eight
// leave a laptop usable; ended runs keep only their readings.
const (
	maxRunning = 8
	maxEnded   = 16
)

// run is what a session needs of a lab's running job. *labs.Run is the one implementation; tests have another.
type run interface {
	Snapshot() *metric.Snapshot
	Set(knobs map[string]any) (version int64, err error)
	Action(name string, args map[string]any) (any, error)
	Diagnosis() labs.Diagnosis
	Evidence() []labs.EvidenceState
	Events() []labs.KnobChange
	Record() *labs.Record
	Comparisons() []labs.Comparison
	KeyLoads() []labs.KeyLoad
	Frames(n int) []labs.Frame
	LookAtKey(key, state, userKey string) (*labs.KeyLayout, error)
	Tracer() *trace.Tracer
	Done() <-chan struct{}
	Err() error
	Close()
}

var _ run = (*labs.Run)(nil)

// startFunc starts a lab's job.
type startFunc func(labs.StartOptions) (run, error)

func startLab(o labs.StartOptions) (run, error) {
	r, err := labs.Start(o)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// session is one job that was started over HTTP.
type session struct {
	id      string
	owned   atomic.Pointer[belongs] // whose it is; a merge of two people changes it
	lab     string
	started time.Time
	run     run
	dir     string       // its checkpoints; removed with the session
	input   string       // the id of the file that it reads; empty for none
	part    int          // how often a server started it, from 1
	seen    atomic.Int64 // UnixNano of the last request for it
	unkept  atomic.Bool  // the store does not have it as it is
	viewers atomic.Int32
	frames  frames
	over    chan struct{} // closed when the session is ended
	shelf   *shelf        // what it has on the disk; nil without classes
}

func newSession(id, lab string, of belongs) *session {
	s := &session{id: id, lab: lab, started: time.Now(), over: make(chan struct{}), part: 1}
	s.owned.Store(&of)
	return s
}

// of says whose the session is.
func (s *session) of() belongs { return *s.owned.Load() }

// gone tells whether the session was ended, by its owner or with the server.
func (s *session) gone() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// ended tells whether the job runs no longer, whatever the reason.
func (s *session) ended() bool {
	select {
	case <-s.run.Done():
		return true
	default:
		return false
	}
}

// sessions holds every session of the server.
type sessions struct {
	start startFunc
	dir   string
	log   *slog.Logger

	// course is nil without classes.
	course *course

	mu       sync.Mutex
	byID     map[string]*session
	starting map[belongs]int
	closed   bool
}

func newSessions(start startFunc, dir string, log *slog.Logger) *sessions {
	return &sessions{start: start, dir: dir, log: log, byID: map[string]*session{}, starting: map[belongs]int{}}
}

// create starts a job. Over the limit it answers 429 with what is allowed.
func (m *sessions) create(o labs.StartOptions, of belongs, input string) (*session, error) {
	if err := m.reserve(of, busyKnobs(o.Knobs)); err != nil {
		return nil, err
	}
	s := newSession(strings.ToLower(rand.Text()[:16]), o.Lab, of)
	s.input = input
	s.dir = filepath.Join(m.dir, s.id)
	if err := m.launch(s, o, of); err != nil {
		return nil, err
	}
	return s, nil
}

// launch starts the job of a session that has its place reserved.
func (m *sessions) launch(s *session, o labs.StartOptions, of belongs) error {
	o.CheckpointDir = filepath.Join(s.dir, "checkpoints")
	if m.course != nil {
		o.CheckpointDir = s.partDir()
		if s.shelf == nil {
			s.shelf = m.course.disks.newShelf(of, s.dir)
		}
		o.Disk = s.shelf
	}
	o.Logger = m.log.With("session", s.id)
	err := os.MkdirAll(o.CheckpointDir, 0o750)
	if err == nil {
		s.run, err = m.start(o)
	}
	if m.course != nil && err == nil {
		s.run = classRun{s.run}
	}
	s.seen.Store(time.Now().UnixNano())
	s.frames.of = s
	m.mu.Lock()
	if m.starting[of]--; m.starting[of] <= 0 {
		delete(m.starting, of)
	}
	closed := m.closed
	if err == nil && !closed {
		m.byID[s.id] = s
	}
	m.mu.Unlock()
	if err != nil {
		if s.part == 1 {
			s.removeDir()
		}
		return err
	}
	if closed {
		s.close()
		return errStopping
	}
	m.log.Info("session started", "session", s.id, "lab", s.lab)
	m.forgetEnded()
	return nil
}

// place counts in a job that had its place before.
func (m *sessions) place(of belongs) {
	m.mu.Lock()
	m.starting[of]++
	m.mu.Unlock()
}

// running counts the jobs that take a place now.
func (m *sessions) running() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, starting := range m.starting {
		n += starting
	}
	for _, s := range m.byID {
		if !s.ended() {
			n++
		}
	}
	return n
}

// reserve counts a job in before it starts, so that two calls at once cannot pass the limit together.
func (m *sessions) reserve(of belongs, busy bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errStopping
	}
	running, mine, busyOnes := 0, m.starting[of], 0
	for _, n := range m.starting {
		running += n
	}
	for _, s := range m.byID {
		if s.ended() {
			continue
		}
		running++
		if s.of() == of {
			mine++
		}
		if busy && busyKnobs(s.run.Snapshot().Knobs) {
			busyOnes++
		}
	}
	if m.course != nil {
		if err := m.course.mayRun(of, running, mine, busy, busyOnes); err != nil {
			return err
		}
	} else if running >= maxRunning {
		// the pages say it in their language, see full
		return newProblem(http.StatusTooManyRequests, "sessions",
			fmt.Sprintf("%d jobs run already and %d are allowed at once: end one first", running, maxRunning))
	}
	m.starting[of]++
	return nil
}

// forgetEnded drops the oldest ended runs beyond those kept for looking back at.
func (m *sessions) forgetEnded() {
	m.mu.Lock()
	var ended []*session
	for _, s := range m.byID {
		if s.ended() && s.viewers.Load() == 0 {
			ended = append(ended, s)
		}
	}
	slices.SortFunc(ended, func(a, b *session) int { return cmp.Compare(a.started.UnixNano(), b.started.UnixNano()) })
	most := maxEnded
	if m.course != nil {
		most = m.course.limits.Sessions
	}
	drop := ended[:max(0, len(ended)-most)]
	for _, s := range drop {
		delete(m.byID, s.id)
	}
	m.mu.Unlock()
	for _, s := range drop {
		s.close()
		if m.course != nil {
			m.course.dropSession(s.id)
		}
	}
}

var errNoSession = newProblem(http.StatusNotFound, "id", "no such session: it was ended, or the server was started anew")

func (m *sessions) get(id string) (*session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.byID[id]; ok {
		return s, nil
	}
	return nil, errNoSession
}

// list gives the sessions, newest first.
func (m *sessions) list() []*session {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*session, 0, len(m.byID))
	for _, s := range m.byID {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *session) int { return cmp.Compare(b.started.UnixNano(), a.started.UnixNano()) })
	return all
}

// listOf gives the sessions that a caller may see in lists: a learner's own, an instructor's of the class.
func (m *sessions) listOf(who *caller) []*session {
	return slices.DeleteFunc(m.list(), func(s *session) bool {
		return !who.mine(s.of()) && !(who.Kind == instructor && who.Class == s.of().Class)
	})
}

// limit is how many jobs a caller may run at once.
func (m *sessions) limit(who *caller) int {
	switch {
	case m.course == nil:
		return maxRunning
	case who.Kind == learner:
		return m.course.limits.PerLearner
	}
	return mostOfInstructor
}

// end closes a session and forgets it.
func (m *sessions) end(id string) error {
	m.mu.Lock()
	s, ok := m.byID[id]
	delete(m.byID, id)
	m.mu.Unlock()
	if !ok {
		return errNoSession
	}
	s.close()
	m.log.Info("session ended", "session", id, "lab", s.lab)
	return nil
}

// closeAll ends every session, all at once; it gives up waiting with ctx.
func (m *sessions) closeAll(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	all := m.byID
	m.byID = map[string]*session{}
	m.mu.Unlock()
	done := make(chan struct{})
	go func() {
		var wg sync.WaitGroup
		for _, s := range all {
			if m.course != nil {
				wg.Go(s.leave)
			} else {
				wg.Go(s.close)
			}
		}
		wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return errors.New("jobs did not end in time")
	}
}

// close is called once: by whoever took the session out of the map.
func (s *session) close() {
	close(s.over)
	s.run.Close()
	s.removeDir()
}

func (s *session) removeDir() {
	_ = os.RemoveAll(s.dir)
	if s.shelf != nil {
		s.shelf.clear()
	}
}
