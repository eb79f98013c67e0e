package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"weir/class"
	"weir/engine/metric"
	"weir/engine/task"
	"weir/labs"
	"weir/whole"
)

// need is what a caller wants with a session.
type need int

const (
	toLook  need = iota // at its readings
	toDrive             // change its knobs, act on it, stop its threads
	toEnd
	toHandIn // its record, as one's own work
)

// session finds a session for a caller. One of another class or learner is not there for them: 404. A learner may look at
// the one in the spotlight; an instructor may look at all of the class, end them, and drive them where the class allows it.
func (s *Server) session(ctx context.Context, id string, want need) (*session, error) {
	sess, err := s.sessions.get(id)
	if err != nil {
		return nil, err
	}
	who := callerOf(ctx)
	sess.seen.Store(time.Now().UnixNano())
	if who.Kind == owner && want == toDrive {
		if err := s.joined.thawed(); err != nil {
			return nil, err
		}
	}
	switch {
	case who.Kind == owner, who.Kind == anotherServer && want == toLook: // that server asks for members whom it knows
		return sess, nil
	case who.Class == "" || who.Class != sess.of().Class:
		return nil, errNoSession
	case who.mine(sess.of()):
		if want == toDrive && who.Kind == learner {
			return sess, s.thawed(ctx, who)
		}
		return sess, nil
	}
	v, err := s.course.view(ctx, who.Class)
	if err != nil {
		return nil, err
	}
	switch {
	case who.Kind == learner:
		if want == toLook && v.class.Steering.Spotlight == id {
			return sess, nil
		}
		return nil, errNoSession
	case want == toDrive && !v.class.MayDrive:
		return nil, newProblem(http.StatusForbidden, "mayDrive", "this class lets its instructor look at learners' runs but not change them: allow it in the settings of the class")
	case want == toDrive:
		s.course.audit(ctx, who, "drive", id)
	case want == toHandIn:
		return nil, errNoSession
	}
	return sess, nil
}

// allowedEvery is how often it is looked at whether somebody may still follow the session of another.
const allowedEvery = time.Second

// whileAllowed ends the stream of a session that is not the caller's own when it is not for them any more: the spotlight
// has moved on, which may tells, or they were removed from the class.
func (s *Server) whileAllowed(ctx context.Context, end func(), who *caller, may func() bool) {
	defer end()
	for pauseFor(ctx, allowedEvery) {
		if !may() || !s.stillThere(ctx, who) {
			return
		}
	}
}

// mayStillLook tells whether a session of this server is for a caller. In doubt it is.
func (s *Server) mayStillLook(ctx context.Context, who *caller, id string) bool {
	if _, err := s.sessions.get(id); err != nil {
		return true // it was ended: the stream sends its last picture by itself
	}
	_, err := s.session(context.WithValue(ctx, callerKey{}, who), id, toLook)
	return err == nil || problemOf(err).Status != http.StatusNotFound
}

var errFrozen = newProblem(http.StatusLocked, "class", "the instructor has frozen all runs for a moment: look at the screen in front")

// thawed refuses a learner while the instructor has frozen the class. Jobs run on: they cannot be paused without changing
// what they measure. What stands still are the pages, and the knobs with them.
func (s *Server) thawed(ctx context.Context, who *caller) error {
	v, err := s.course.view(ctx, who.Class)
	if err != nil {
		return err
	}
	if v.class.Steering.Frozen {
		return errFrozen
	}
	return nil
}

// mayStart tells whether a caller may start a lab's job with these knobs.
func (s *Server) mayStart(ctx context.Context, l *labs.Lab, knobs map[string]any) error {
	who := callerOf(ctx)
	if who.Kind != learner {
		return s.joined.thawed()
	}
	if err := s.thawed(ctx, who); err != nil {
		return err
	}
	return s.course.capKnobs(l, nil, knobs)
}

// mayTurn tells whether a caller may change knobs of a session.
func (s *Server) mayTurn(ctx context.Context, sess *session, given map[string]any) error {
	if callerOf(ctx).Kind != learner {
		return nil
	}
	l, err := labs.Find(sess.lab)
	if err != nil {
		return err
	}
	now := sess.run.Snapshot().Knobs
	if err := s.course.capKnobs(l, now, given); err != nil {
		return err
	}
	if !busyKnobs(given) || busyKnobs(now) {
		return nil
	}
	busy := 0
	for _, other := range s.sessions.list() {
		if other != sess && other.of().Person != "" && !other.ended() && busyKnobs(other.run.Snapshot().Knobs) {
			busy++
		}
	}
	return tooBusy(busy)
}

func tooBusy(busy int) error {
	if most := mostBusyJobs(); busy >= most {
		return newProblem(http.StatusTooManyRequests, "workKind", fmt.Sprintf("%d jobs keep cores busy already and %d may at once in a class: use sleep, or try later", busy, most))
	}
	return nil
}

// mayAct tells whether a caller may do an action with its arguments.
func (s *Server) mayAct(ctx context.Context, sess *session, name string, args map[string]any) error {
	if p, ok := args["parallelism"]; ok && name == "rescale" {
		return s.mayTurn(ctx, sess, map[string]any{"parallelism": p})
	}
	return nil
}

// mostOfInstructor are the jobs that an instructor may run at once. They have room beyond the learners' places.
const mostOfInstructor = 4

// mayRun tells whether somebody of a class may start a job: learners one after the other when the server is full.
func (c *course) mayRun(of belongs, running, mine int, busy bool, busyOnes int) error {
	if of.Person == "" {
		if mine >= mostOfInstructor {
			return newProblem(http.StatusTooManyRequests, "sessions", fmt.Sprintf("%d jobs run already and an instructor may run %d at once: end one first", mine, mostOfInstructor))
		}
		return nil
	}
	if mine >= c.limits.PerLearner {
		return newProblem(http.StatusTooManyRequests, "sessions", fmt.Sprintf("%d of your jobs run already and each learner may run %d at once: end it first", mine, c.limits.PerLearner))
	}
	if busy {
		if err := tooBusy(busyOnes); err != nil {
			return err
		}
	}
	place, ok := c.line.ask(of.Person, c.limits.Sessions-running)
	if ok {
		return nil
	}
	p := newProblem(http.StatusTooManyRequests, "sessions", fmt.Sprintf("the server is full: %d jobs run at once. You are number %d in the queue; the page asks again by itself", c.limits.Sessions, place))
	p.Place, p.retryAfter = place, 3
	return p
}

// begin starts a job for a caller, and keeps it so that it comes back after a restart.
func (s *Server) begin(ctx context.Context, o labs.StartOptions, input string) (*session, error) {
	who := callerOf(ctx)
	sess, err := s.sessions.create(o, belongs{who.Class, who.Person}, input)
	if err != nil {
		return nil, err
	}
	if s.course != nil && input != "" {
		key := ""
		if o.Input != nil {
			key = o.Input.Key
		}
		b, _ := json.Marshal(sessionInput{ID: input, Key: key})
		if err := whole.Write(filepath.Join(sess.dir, "input.json"), b); err != nil {
			s.log.Warn("the input of a session is not kept", "session", sess.id, "error", err)
		}
	}
	s.keepSession(ctx, sess)
	return sess, nil
}

// sessionInput is the file that a session reads, as its folder keeps it.
type sessionInput struct{ ID, Key string }

// keepSession keeps a session in the store as far as it must come back. While the store has trouble the session runs all
// the same; the writer of places tries again.
func (s *Server) keepSession(ctx context.Context, sess *session) {
	if s.course == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	err := s.course.store.PutSession(ctx, class.Session{ID: sess.id, Class: sess.of().Class, Person: sess.of().Person, Server: s.course.server, Lab: sess.lab,
		Knobs: sess.run.Snapshot().Knobs, Dir: sess.dir, Started: sess.started.UTC()})
	sess.unkept.Store(err != nil)
	if err != nil {
		s.log.Warn("a session is not kept in the store yet", "session", sess.id, "error", err)
	}
}

// endSession ends a session for good.
func (s *Server) endSession(id string) error {
	if err := s.sessions.end(id); err != nil {
		return err
	}
	if s.course != nil {
		s.course.dropSession(id)
	}
	return nil
}

// dropSession has a session not come back.
func (c *course) dropSession(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := c.store.DeleteSession(ctx, id); err != nil {
		c.log.Warn("an ended session is still in the store", "session", id, "error", err)
	}
}

// partDir is where the job keeps its checkpoints since this server, or the one before it, started it.
func (s *session) partDir() string { return filepath.Join(s.dir, "part-"+strconv.Itoa(s.part)) }

// leave stops the job with a checkpoint and keeps its folder: the next server goes on from there.
func (s *session) leave() {
	close(s.over)
	if s.ended() {
		s.run.Close()
		_ = os.RemoveAll(s.dir)
		return
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_, _ = s.run.Action("stop", nil) // the newest checkpoint before it serves too
	}()
	t := time.NewTimer(leavePatience)
	select {
	case <-stopped:
	case <-t.C:
	}
	t.Stop()
	s.run.Close()
	<-stopped
}

// leavePatience is what a job has for its last checkpoint: a backpressured one may need longer than a stop can wait.
const leavePatience = 5 * time.Second

// bringBack starts the sessions that this server ran before, each from its newest complete checkpoint.
func (s *Server) bringBack(ctx context.Context) {
	c := s.course
	rows, err := c.store.SessionsOf(ctx, c.server)
	if err != nil {
		s.log.Error("sessions do not come back", "error", err)
		return
	}
	known := map[string]bool{}
	for i := range rows {
		row := &rows[i]
		// The folder is made of the id alone: what the store says of paths is not followed.
		dir := filepath.Join(s.sessions.dir, safeName(row.ID))
		if row.ID != safeName(row.ID) || ctx.Err() != nil {
			continue
		}
		known[row.ID] = true
		if err := s.bringOne(ctx, row, dir); err != nil {
			s.log.Warn("a session does not come back", "session", row.ID, "lab", row.Lab, "error", err)
			c.dropSession(row.ID)
			_ = os.RemoveAll(dir)
		}
	}
	left, _ := os.ReadDir(s.sessions.dir) // none is as good
	for _, e := range left {
		if _, err := s.sessions.get(e.Name()); err != nil {
			_ = os.RemoveAll(filepath.Join(s.sessions.dir, e.Name()))
		}
	}
	used := map[string]bool{}
	for _, sess := range s.sessions.list() {
		used[sess.input] = true
	}
	s.inputs.keepOnly(used)
}

func (s *Server) bringOne(ctx context.Context, row *class.Session, dir string) error {
	sess := newSession(row.ID, row.Lab, belongs{row.Class, row.Person})
	sess.started, sess.dir = row.Started, dir
	restore, part := newestCheckpoint(dir)
	sess.part = part + 1
	o := labs.StartOptions{Lab: row.Lab, Knobs: row.Knobs, Restore: restore}
	if b, err := os.ReadFile(filepath.Join(dir, "input.json")); err == nil {
		var in sessionInput
		if err := json.Unmarshal(b, &in); err != nil {
			return err
		}
		file, err := s.inputs.get(in.ID, &caller{Kind: owner})
		if err != nil {
			return err
		}
		sess.input = in.ID
		if o.Input, err = keyed(file, in.Key); err != nil {
			return err
		}
	}
	s.sessions.place(sess.of())
	err := s.sessions.launch(sess, o, sess.of())
	if err != nil && restore != "" {
		s.log.Warn("a session starts without its state", "session", row.ID, "from", filepath.Base(restore), "error", err)
		o.Restore = ""
		sess.part++
		s.sessions.place(sess.of())
		err = s.sessions.launch(sess, o, sess.of())
	}
	if err != nil {
		sess.removeDir()
		return err
	}
	// A job that claims what it was restored from goes on using those files.
	if row.Knobs["claimMode"] != "claim" {
		for n := 1; n < part; n++ {
			_ = sess.shelf.RemoveAll(filepath.Join(dir, "part-"+strconv.Itoa(n))) // a folder that stays is only counted
		}
	}
	s.log.Info("session came back", "session", row.ID, "lab", row.Lab, "from", filepath.Base(restore))
	return nil
}

// newestCheckpoint finds the newest complete checkpoint below a session's folder and the number of its newest part.
func newestCheckpoint(dir string) (path string, part int) {
	var newest time.Time
	parts, _ := os.ReadDir(dir) // a folder that is not there has none
	for _, p := range parts {
		n, err := strconv.Atoi(strings.TrimPrefix(p.Name(), "part-"))
		if err != nil || !p.IsDir() {
			continue
		}
		part = max(part, n)
		_ = filepath.WalkDir(filepath.Join(dir, p.Name()), func(at string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() != "_metadata" {
				return nil
			}
			info, err := d.Info()
			if err == nil && info.ModTime().After(newest) {
				newest, path = info.ModTime(), filepath.Dir(at)
			}
			return nil
		})
	}
	return path, part
}

// classRun is a job of a class: it tells nothing of the server's disk.
type classRun struct{ run }

// Snapshot is the job's, without the folders of checkpoints.
func (r classRun) Snapshot() *metric.Snapshot {
	s := r.run.Snapshot()
	for i := range s.Checkpoints {
		if s.Checkpoints[i].Path != "" {
			s.Checkpoints[i].Path = filepath.Base(s.Checkpoints[i].Path)
		}
	}
	return s
}

// ViewHeap is the job's.
func (r classRun) ViewHeap(subtask int, q task.HeapQuestion) (*task.HeapView, error) {
	if h, ok := r.run.(heapRun); ok {
		return h.ViewHeap(subtask, q)
	}
	return nil, task.ErrNoHeap
}

// withoutPath shortens the path that an action answers.
func withoutPath(result any) any {
	if m, ok := result.(map[string]any); ok {
		if p, ok := m["path"].(string); ok {
			return map[string]any{"path": filepath.Base(p)}
		}
	}
	return result
}
