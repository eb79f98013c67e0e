package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"

	"weir/labs"
)

// knobCaps are the most that a learner's job may have of a knob, if its lab does not start with more.
var knobCaps = map[string]float64{
	"parallelism":               8,
	"taskManagers":              4,
	"maxParallelism":            1 << 12,
	"stages":                    8,
	"recordBytes":               64 << 10,
	"fanOut":                    10_000,
	"networkMemoryBytes":        128 << 20,
	"memoryBudgetBytes":         256 << 20,
	"cacheBytes":                64 << 20,
	"retainedCheckpoints":       5,
	"maxBuffersPerSubpartition": 1000,
}

// mostBusyCores is the parallelism of a learner's job whose work keeps cores busy.
const mostBusyCores = 2

// mostBusyJobs are the jobs of learners whose work may keep cores busy at once: the others only wait.
func mostBusyJobs() int { return max(1, runtime.NumCPU()/2) }

// capKnobs refuses knobs with which one learner's job could take the memory, the disk or the cores of the others. now are
// the knobs as they are, or those of the lab.
func (c *course) capKnobs(l *labs.Lab, now, given map[string]any) error {
	defaults := l.Defaults()
	value := func(name string) any {
		if v, ok := given[name]; ok {
			return v
		}
		if v, ok := now[name]; ok {
			return v
		}
		return defaults[name]
	}
	for name, v := range given {
		most, capped := knobCaps[name]
		if name == "rate" {
			most, capped = c.limits.Rate, true
		}
		if !capped {
			continue
		}
		n, ok := number(v)
		first, _ := number(defaults[name])
		switch {
		case !ok: // refused as no number when it is set
		case name == "rate" && n == 0 && first > 0:
			return overCap(name, "no limit", most)
		case n > max(most, first):
			return overCap(name, v, max(most, first))
		}
	}
	keys, _ := number(value("keys"))
	perKey, _ := number(value("stateBytesPerKey"))
	if _, has := defaults["keys"]; has {
		firstKeys, _ := number(defaults["keys"])
		firstPer, _ := number(defaults["stateBytesPerKey"])
		const entry = 64 // bytes of a key and a count
		if state := keys * (perKey + entry); state > float64(c.limits.StateBytes) && state > firstKeys*(firstPer+entry) {
			field := "keys"
			if _, ok := given["stateBytesPerKey"]; ok {
				field = "stateBytesPerKey"
			}
			return newProblem(http.StatusTooManyRequests, field, fmt.Sprintf("%.0f keys of %.0f bytes are more than the %d MiB of state that each learner may have in a class",
				keys, perKey, c.limits.StateBytes>>20))
		}
	}
	if p, _ := number(value("parallelism")); value("workKind") == "cpu" && p > mostBusyCores {
		return newProblem(http.StatusTooManyRequests, "parallelism", fmt.Sprintf("with workKind cpu at most %d are allowed in a class", mostBusyCores))
	}
	return nil
}

func overCap(name string, v any, most float64) error {
	return newProblem(http.StatusTooManyRequests, name, fmt.Sprintf("%v is more than each learner may have in a class, at most %.0f", v, most))
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	case string: // a form's
		var f float64
		_, err := fmt.Sscan(n, &f)
		return f, err == nil
	}
	return 0, false
}

// busyKnobs tells whether a job's work keeps cores busy.
func busyKnobs(knobs map[string]any) bool { return knobs["workKind"] == "cpu" }
