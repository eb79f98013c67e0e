package main

import (
	"encoding/json"
	"testing"
)

func TestBenchesOfState(t *testing.T) {
	for _, args := range [][]string{
		{"state", "--backend", "hashmap", "--records", "100000", "--keys", "1000"},
		{"state", "--backend", "lsm", "--records", "20000", "--keys", "1000"},
		{"checkpoint", "--keys", "2000", "--rate", "20000", "--checkpoints", "1"},
		{"rescale", "--keys", "2000", "--rate", "20000"},
	} {
		out, errs, status := labserver(t, "", append(append([]string{"bench"}, args...), "--json")...)
		var r struct {
			RecordsPerSecond float64
			DurationsMs      []int64
			RunningAfterMs   float64
			StateBytes       int64
		}
		if err := json.Unmarshal([]byte(out), &r); err != nil || status != 0 {
			t.Errorf("%v: %v, status %d: %s%s", args, err, status, out, errs)
			continue
		}
		if r.RecordsPerSecond <= 0 && r.RunningAfterMs <= 0 || r.StateBytes <= 0 || args[0] == "checkpoint" && len(r.DurationsMs) != 1 {
			t.Errorf("%v: %s", args, out)
		}
	}
	if _, errs, status := labserver(t, "", "bench", "state", "--backend", "redis"); status != 2 || errs == "" {
		t.Errorf("an unknown backend: status %d, %q", status, errs)
	}
}
