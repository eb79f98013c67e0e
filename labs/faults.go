package labs

import (
	"errors"
	"fmt"
	"math"

	"weir/engine/network"
)

// fault puts a fault on the connection that args name by its task managers, {"from": 0, "to": 1}: the way of the data. By
// default it is the first pair.
func (r *Run) fault(j engineJob, f network.Fault, args map[string]any) (any, error) {
	from, err := taskManagerOf(args, "from", 0)
	if err != nil {
		return nil, err
	}
	to, err := taskManagerOf(args, "to", 1)
	if err != nil {
		return nil, err
	}
	var none *network.NoConnectionError
	switch err := j.Inject(f, from, to); {
	case errors.As(err, &none):
		return nil, &ActionError{"from", err.Error()}
	case err != nil:
		return nil, err
	}
	return map[string]any{"from": from, "to": to}, nil
}

// taskManagerOf reads the number of a task manager from an action's arguments.
func taskManagerOf(args map[string]any, name string, deflt int) (int, error) {
	v, ok := args[name]
	if !ok {
		return deflt, nil
	}
	f, ok := asFloat(v)
	if !ok || f != math.Trunc(f) || f < 0 || f >= taskManagersBound {
		return 0, &ActionError{name, fmt.Sprintf("%s is not a task manager: give its number, 0 to %d", show(v), taskManagersBound-1)}
	}
	return int(f), nil
}
