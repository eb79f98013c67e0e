package golden

import (
	"encoding/json"
	"fmt"
	"slices"

	"weir/engine/memory"
)

type localPoolCase struct {
	Total                int `json:"total"`
	Required             int `json:"required"`
	Max                  int `json:"max"`
	Subpartitions        int `json:"subpartitions"`
	MaxBuffersPerChannel int `json:"maxBuffersPerChannel"`
	Overdraft            int `json:"overdraft"`
	Steps                []struct {
		Op    []json.RawMessage `json:"op"`
		State []json.RawMessage `json:"state"`
	} `json:"steps"`
}

type localPoolHeader struct {
	Columns []string `json:"columns"`
}

// localPoolColumns are the ones whose values the replay compares, in their order.
var localPoolColumns = []string{"available", "used", "requested", "availableSegments", "size", "overdraft",
	"subpartitionsAtLimit", "globalFree", "perChannel"}

// LocalBufferPool replays local_buffer_pool.json: requests, returns, changes of size and overdraft, with the pool's state
// after each.
func LocalBufferPool(data []byte) (Report, error) {
	var h localPoolHeader
	return replay(data, &h, func(c *localPoolCase) error {
		if !slices.Equal(h.Columns, localPoolColumns) {
			return fmt.Errorf("the columns are %v, expected %v", h.Columns, localPoolColumns)
		}
		r := localPoolReplay{global: memory.NewGlobalPool(c.Total, 64), out: map[int]*memory.Segment{}}
		for i, s := range c.Steps {
			op, args, err := operation(s.Op)
			if err == nil {
				err = r.do(c, op, args)
			}
			if err == nil {
				err = r.check(s.State)
			}
			if err != nil {
				return fmt.Errorf("step %d %s: %w", i, s.Op, err)
			}
		}
		return nil
	})
}

// operation splits [name, number or null, ...].
func operation(step []json.RawMessage) (name string, args []*int, err error) {
	if len(step) == 0 {
		return "", nil, fmt.Errorf("an empty step")
	}
	if err := json.Unmarshal(step[0], &name); err != nil {
		return "", nil, err
	}
	args = make([]*int, len(step)-1)
	for i, raw := range step[1:] {
		if err := json.Unmarshal(raw, &args[i]); err != nil {
			return "", nil, err
		}
	}
	return name, args, nil
}

type localPoolReplay struct {
	global *memory.GlobalPool
	pool   *memory.LocalPool
	out    map[int]*memory.Segment
	others []*memory.Segment
}

// arguments of each operation; the first of them is never null.
var localPoolArguments = map[string]int{"create": 0, "request": 2, "recycle": 1, "setNumBuffers": 1, "setMaxOverdraft": 1,
	"othersTake": 2, "othersReturn": 2}

func (r *localPoolReplay) do(c *localPoolCase, op string, args []*int) error {
	n, ok := localPoolArguments[op]
	switch {
	case !ok:
		return fmt.Errorf("unknown op")
	case len(args) != n || n > 0 && args[0] == nil:
		return fmt.Errorf("%d numbers are needed", n)
	case (r.pool == nil) != (op == "create"):
		return fmt.Errorf("the pool is made first, and once")
	}
	switch op {
	case "create":
		p, err := r.global.CreateLocalPool(memory.PoolOptions{Required: c.Required, Max: c.Max, Subpartitions: c.Subpartitions,
			MaxBuffersPerSubpartition: c.MaxBuffersPerChannel, MaxOverdraft: c.Overdraft})
		r.pool = p
		return err
	case "request":
		got := r.pool.Request(*args[0])
		if (got != nil) != (args[1] != nil) {
			return fmt.Errorf("granted: %v, expected %v", got != nil, args[1] != nil)
		}
		if got != nil {
			r.out[*args[1]] = got
		}
	case "recycle":
		s, ok := r.out[*args[0]]
		if !ok {
			return fmt.Errorf("buffer %d is not out", *args[0])
		}
		delete(r.out, *args[0])
		s.Release()
	case "setNumBuffers":
		return r.pool.SetSize(*args[0])
	case "setMaxOverdraft":
		r.pool.SetMaxOverdraft(*args[0])
	case "othersTake", "othersReturn":
		if args[1] == nil {
			return fmt.Errorf("2 numbers are needed")
		}
		if got := r.elsewhere(op, *args[0]); got != *args[1] {
			return differs("the number of segments", got, *args[1])
		}
	}
	return nil
}

// elsewhere moves up to n segments from or to the global pool, past the local one.
func (r *localPoolReplay) elsewhere(op string, n int) (moved int) {
	for ; moved < n; moved++ {
		if op == "othersTake" {
			s := r.global.RequestPooled()
			if s == nil {
				break
			}
			r.others = append(r.others, s)
			continue
		}
		if len(r.others) == 0 {
			break
		}
		r.global.RecyclePooled(r.others[0])
		r.others = r.others[1:]
	}
	return moved
}

func (r *localPoolReplay) check(state []json.RawMessage) error {
	st := r.pool.Stats()
	available := 0
	if r.pool.Available() {
		available = 1
	}
	got := []any{available, st.Used, st.Requested, st.Ready, st.Size, st.Overdraft, st.AtLimit, r.global.Available(),
		r.pool.AppendSubpartitions([]int{})}
	if len(state) != len(got) {
		return differs("the number of columns", len(got), len(state))
	}
	for i, raw := range state {
		var want any
		if err := json.Unmarshal(raw, &want); err != nil {
			return err
		}
		if a, b := fmt.Sprint(got[i]), fmt.Sprint(want); a != b {
			return differs(localPoolColumns[i], a, b)
		}
	}
	return nil
}
