package golden

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"weir/engine/keygroup"
	"weir/engine/serde"
)

type rangesCase struct {
	Kind           string   `json:"kind"`
	MaxParallelism int      `json:"maxParallelism"`
	Parallelism    int      `json:"parallelism"`
	Ranges         [][2]int `json:"ranges"`
	Pairs          [][2]int `json:"pairs"`
	Call           string   `json:"call"`
	Result         *string  `json:"result"`
	Error          *struct {
		Class   string  `json:"class"`
		Message *string `json:"message"`
	} `json:"error"`
}

// KeyGroupRanges replays keygroup_ranges.json: the ranges of subtasks, the subtasks of key groups, derived maximum
// parallelisms, and calls out of bounds.
func KeyGroupRanges(data []byte) (Report, error) {
	return replay(data, nil, func(c *rangesCase) error {
		switch c.Kind {
		case "ranges":
			return c.checkRanges()
		case "operators":
			for _, p := range c.Pairs {
				if got := keygroup.OperatorIndex(c.MaxParallelism, c.Parallelism, p[0]); got != p[1] {
					return differs(fmt.Sprintf("the subtask of key group %d", p[0]), got, p[1])
				}
			}
			return nil
		case "default":
			if got := keygroup.DefaultMaxParallelism(c.Parallelism); got != c.MaxParallelism {
				return differs("the default", got, c.MaxParallelism)
			}
			return nil
		case "call":
			return c.checkCall()
		}
		return fmt.Errorf("unknown kind %q", c.Kind)
	})
}

func (c *rangesCase) checkRanges() error {
	got, err := keygroup.Ranges(c.MaxParallelism, c.Parallelism)
	if err != nil {
		return err
	}
	if len(got) != len(c.Ranges) {
		return differs("the number of ranges", len(got), len(c.Ranges))
	}
	for i, r := range got {
		if want := (keygroup.Range{First: c.Ranges[i][0], Last: c.Ranges[i][1]}); r != want {
			return differs(fmt.Sprintf("range %d", i), r, want)
		}
	}
	return nil
}

func (c *rangesCase) checkCall() error {
	got, err := call(c.Call)
	if c.Error == nil {
		if err != nil {
			return err
		}
		if want := deref(c.Result); got != want {
			return differs("the result", got, want)
		}
		return nil
	}
	if err == nil {
		return differs("the result", fmt.Sprintf("%q", got), c.Error.Class)
	}
	want := deref(c.Error.Message)
	var bounds *keygroup.BoundsError
	if message := err.Error(); !errors.As(err, &bounds) {
		if message != want || c.Error.Class == "java.lang.IllegalArgumentException" {
			return differs("the error", message, c.Error.Class+": "+want)
		}
		return nil
	}
	if bounds.Message != want || c.Error.Class != "java.lang.IllegalArgumentException" {
		return differs("the error", bounds.Message, c.Error.Class+": "+want)
	}
	return nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// ofCall and namedCall are the two forms of a call in the file.
var (
	ofCall    = regexp.MustCompile(`^KeyGroupRange\.of\((-?\d+),(-?\d+)\)(?:\.getIntersection\(KeyGroupRange\.of\((-?\d+),(-?\d+)\)\))?$`)
	namedCall = regexp.MustCompile(`^([A-Za-z.]+)\(([^()]*)\)(\..*)?$`)
)

// call makes a call that a golden file has as text, and gives its result as Java prints it; null is empty.
func call(text string) (string, error) {
	if m := ofCall.FindStringSubmatch(text); m != nil {
		return callOf(m[1:])
	}
	m := namedCall.FindStringSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("unknown call %q", text)
	}
	function, arguments := m[1], strings.Split(m[2], ",")
	if function == "assignToKeyGroup" && len(arguments) == 2 {
		return callAssign(arguments)
	}
	var n []int
	for _, a := range arguments {
		v, err := strconv.Atoi(a)
		if err != nil {
			return "", err
		}
		n = append(n, v)
	}
	// A chained call is made on what the first one gives: the same operator.
	next := func(err error) (string, error) {
		if err != nil || m[3] == "" {
			return "", err
		}
		return call("SingleOutputStreamOperator" + m[3])
	}
	switch {
	case function == "computeKeyGroupRangeForOperatorIndex" && len(n) == 3:
		r, err := keygroup.RangeFor(n[0], n[1], n[2])
		return r.String(), err
	case function == "computeDefaultMaxParallelism" && len(n) == 1:
		err := keygroup.CheckParallelism(n[0])
		return strconv.Itoa(keygroup.DefaultMaxParallelism(n[0])), err
	case function == "checkParallelismPreconditions" && len(n) == 1:
		return next(keygroup.CheckParallelism(n[0]))
	case function == "StreamExecutionEnvironment.setMaxParallelism" && len(n) == 1:
		return next(keygroup.CheckMaxParallelism(n[0]))
	case function == "SingleOutputStreamOperator.setMaxParallelism" && len(n) == 1:
		return next(keygroup.CheckOperatorMaxParallelism(n[0]))
	case function == "SingleOutputStreamOperator.setParallelism" && len(n) == 1:
		return next(keygroup.CheckOperatorParallelism(n[0]))
	}
	return "", fmt.Errorf("unknown call %q", text)
}

func callOf(groups []string) (string, error) {
	var n [4]int
	for i, g := range groups {
		if g != "" {
			v, err := strconv.Atoi(g)
			if err != nil {
				return "", err
			}
			n[i] = v
		}
	}
	r, err := keygroup.RangeOf(n[0], n[1])
	if err != nil || groups[2] == "" {
		return r.String(), err
	}
	o, err := keygroup.RangeOf(n[2], n[3])
	return r.Intersect(o).String(), err
}

func callAssign(arguments []string) (string, error) {
	maxParallelism, err := strconv.Atoi(arguments[1])
	if err != nil {
		return "", err
	}
	if arguments[0] == "null" {
		group, err := serde.AssignKey(serde.Long, nil, maxParallelism)
		return strconv.Itoa(group), err
	}
	k, err := serde.ParseKey(serde.Long, strings.TrimSuffix(arguments[0], "L"))
	if err != nil {
		return "", err
	}
	group, err := serde.AssignKey(serde.Long, &k, maxParallelism)
	return strconv.Itoa(group), err
}
