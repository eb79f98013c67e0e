package labs

import (
	"encoding/json"
	"fmt"
	"slices"

	"weir/engine/network"
)

// ActionError says what an action was given and what it wants.
type ActionError struct{ Field, Reason string }

func (e *ActionError) Error() string { return e.Field + ": " + e.Reason }

// Actions are the names that Action knows.
var Actions = []string{"checkpoint", "savepoint", "failNextCheckpoint", "loseNotification", "stop", "restart", "rescale", "cutConnection", "damageFrame", "stopReading", "compact", "touchOutsideRecord"}

// Action acts on the job:
//
//   - checkpoint triggers one and returns {"id"};
//   - savepoint takes one in the format that every backend restores, and returns its {"path"};
//   - failNextCheckpoint has the next state that is stored for a checkpoint fail, loseNotification keeps the completion of the
//     next checkpoint from the tasks;
//   - stop ends the job with a last checkpoint and returns its {"path"};
//   - restart stops with a checkpoint and restores from it;
//   - rescale {"parallelism": n} does so with another parallelism;
//   - compact has the lsm backends drop the values whose time to live has passed, and returns how many were {"dropped"};
//   - touchOutsideRecord has an operator read its keyed state between two records, and returns the {"error"} that it was given;
//   - cutConnection, damageFrame and stopReading {"from": n, "to": m} put a fault on the connection that carries data from
//     one task manager to another; the job fails by it and goes on as its restart strategy says.
func (r *Run) Action(name string, args map[string]any) (any, error) {
	r.mu.Lock()
	if err := r.ready(); err != nil {
		r.mu.Unlock()
		return nil, err
	}
	if slices.Contains(Actions, name) {
		r.mark(MarkAction, name, actionText(args))
	}
	switch name {
	case "checkpoint":
		j := r.job
		r.mu.Unlock()
		id, err := j.TriggerCheckpoint()
		if err != nil {
			return nil, err
		}
		return map[string]any{"id": id}, nil
	case "savepoint":
		j := r.job
		r.mu.Unlock()
		path, err := j.Savepoint()
		if err != nil {
			return nil, err
		}
		return map[string]any{"path": path}, nil
	case "failNextCheckpoint", "loseNotification":
		defer r.mu.Unlock()
		if name == "loseNotification" {
			r.job.LoseNextNotification()
		} else {
			r.job.FailNextCheckpoint()
		}
		return nil, nil
	case "stop":
		r.mu.Unlock()
		path, err := r.Stop()
		if err != nil {
			return nil, err
		}
		return map[string]any{"path": path}, nil
	case "restart":
		defer r.mu.Unlock()
		return nil, r.restart(r.values)
	case "rescale":
		r.mu.Unlock()
		p, ok := args["parallelism"]
		if !ok {
			return nil, &ActionError{"parallelism", `missing: give {"parallelism": N}`}
		}
		version, err := r.Set(map[string]any{"parallelism": p})
		if err != nil {
			return nil, err
		}
		return map[string]any{"version": version}, nil
	}
	j := r.job
	r.mu.Unlock()
	if out, known, err := r.stateAction(j, name); known {
		return out, err
	}
	if f, err := network.ParseFault(name); err == nil {
		return r.fault(j, f, args)
	}
	if near := Nearest(name, Actions); len(near) > 0 {
		return nil, &ActionError{"action", fmt.Sprintf("%q is unknown: did you mean %s?", name, near[0])}
	}
	return nil, &ActionError{"action", fmt.Sprintf("%q is unknown: there are %v", name, Actions)}
}

// actionText shows an action's arguments in a record.
func actionText(args map[string]any) string {
	if len(args) == 0 {
		return ""
	}
	b, err := json.Marshal(args)
	if err != nil {
		return ""
	}
	return string(b)
}
