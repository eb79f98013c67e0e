package job

import (
	"errors"
	"fmt"
	"time"

	"weir/engine/checkpoint"
	"weir/engine/metric"
	"weir/engine/task"
)

// pause is the time between a failure and the restart that follows it.
type pause struct {
	wake   chan struct{}
	signed bool
}

// end ends the pause early; the job's lock is held.
func (p *pause) end() {
	if p != nil && !p.signed {
		p.signed = true
		close(p.wake)
	}
}

// latest is the checkpoint to restore after a failure: the last that was completed, or the one that the job started from;
// nil is the beginning. The lock is held.
func (j *Job) latest() *checkpoint.Completed {
	if n := len(j.past.Retained); n > 0 {
		return j.past.Retained[n-1]
	}
	return j.base
}

// restartAfter restarts the job after a failure of its attempt, as the restart strategy says, and is false when that says
// no. It returns when the job runs again, or has ended.
func (j *Job) restartAfter(a *attempt, cause error) bool {
	j.mu.Lock()
	delay, ok := j.backoff.next(&j.settings, time.Now())
	if !ok || j.canceling {
		j.mu.Unlock()
		return false
	}
	j.mu.Unlock()
	last := a.lastReadings(j.options.Lab)
	j.mu.Lock()
	j.final = last
	j.mu.Unlock()
	a.release(j.log)
	for {
		j.log.Warn("the job failed and will restart", "cause", cause, "delay", delay)
		next, stop := j.waitToRestart(delay, cause)
		if stop {
			return true
		}
		j.mu.Lock()
		graph, settings, from := j.graph, j.settings, j.latest()
		j.mu.Unlock()
		if next != nil {
			graph, settings, next.from = next.graph, next.settings, from
		}
		err := j.begin(graph, settings, from, j.owns(from)) // after a failure it is the job's own, whatever the claim mode
		if next != nil {
			next.err = err
			close(next.running)
		}
		if err == nil {
			return true
		}
		if next != nil { // what was asked for cannot run: back to what did
			delay = 0
			continue
		}
		cause = err
		j.mu.Lock()
		delay, ok = j.backoff.next(&j.settings, time.Now())
		if !ok {
			j.conclude(Failed, err, last)
		}
		j.mu.Unlock()
		if !ok {
			close(j.done)
			return true
		}
	}
}

// waitToRestart waits for the delay to pass, or for someone who does not want to wait: next is a restart with other
// settings that was asked for meanwhile. stop is true when the job has ended instead.
func (j *Job) waitToRestart(delay time.Duration, cause error) (next *plan, stop bool) {
	j.mu.Lock()
	p := &pause{wake: make(chan struct{})}
	j.enter(Restarting)
	j.survived, j.pause = cause, p
	if j.canceling {
		p.end()
	}
	j.mu.Unlock()
	timer := time.NewTimer(delay)
	select {
	case <-timer.C:
	case <-p.wake:
	}
	timer.Stop()
	j.mu.Lock()
	next, j.next, j.pause = j.next, nil, nil
	switch {
	case j.canceling:
		j.conclude(Canceled, nil, j.final)
		if next != nil {
			next.err = ErrEnded
		}
	case next != nil && !next.restart:
		next.from = j.latest()
		j.conclude(Stopped, nil, j.final)
	default:
		j.mu.Unlock()
		return next, false
	}
	j.mu.Unlock()
	if next != nil {
		close(next.running)
	}
	close(j.done)
	return nil, true
}

// conclude ends the job; the caller closes done. The lock is held.
func (j *Job) conclude(s State, failure error, last *metric.Snapshot) {
	j.enter(s)
	j.failure, j.final, j.end = failure, last, time.Now()
}

// lastReadings are those of an attempt that has ended, before it is released.
func (a *attempt) lastReadings(lab string) *metric.Snapshot {
	last := &metric.Snapshot{Lab: lab}
	a.fill(last)
	if a.restored != nil {
		last.RestoredCheckpointID = a.restored.ID
	}
	return last
}

// giveUpPlan tells who waits for the job's last checkpoint that a failure came before it.
func (j *Job) giveUpPlan(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if p := j.next; p != nil && p.from == nil && err != nil && !errors.Is(err, task.ErrCanceled) {
		j.next = nil
		p.err = fmt.Errorf("the job failed meanwhile: %w", err)
		close(p.running)
	}
}

// stopPaused stops or restarts a job that waits to be restarted after a failure: its state is the last checkpoint. The
// lock is held when it is called.
func (j *Job) stopPaused(p *plan) (string, error) {
	if !p.restart && j.latest() == nil {
		j.mu.Unlock()
		return "", ErrNothingToStop
	}
	j.next = p
	j.pause.end()
	j.mu.Unlock()
	<-p.running
	return p.result()
}

// result is how a plan went, once it is done.
func (p *plan) result() (path string, err error) {
	if p.err == nil && p.from != nil {
		path = p.from.Path
	}
	return path, p.err
}
