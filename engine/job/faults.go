package job

import "weir/engine/network"

// Inject puts a fault on the connection that carries data from one task manager to another. The attempt fails with an
// error that names the connection, and the job goes on as its restart strategy says. The error is a
// *network.NoConnectionError if the two are not joined that way.
func (j *Job) Inject(f network.Fault, from, to int) error {
	j.mu.Lock()
	a, state := j.attempt, j.state
	j.mu.Unlock()
	switch {
	case state.Ended():
		return ErrEnded
	case state != Running:
		return ErrRestarting
	}
	return a.wire().Inject(f, from, to)
}
