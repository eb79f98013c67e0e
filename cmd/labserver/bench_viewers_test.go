package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestBenchViewers(t *testing.T) {
	out, errs, status := labserver(t, "", "bench", "viewers", "--viewers", "2,5", "--seconds", "1", "--one-process", "--past-break", "--json")
	var r viewersResult
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != 0 {
		t.Fatalf("%v, status %d: %s%s", err, status, out, errs)
	}
	if len(r.Steps) != 2 || r.Steps[1].Viewers != 5 {
		t.Fatalf("%s", out)
	}
	for _, s := range r.Steps {
		if s.Connected != s.Viewers || s.SlowestHz <= 0 || s.Hz < s.SlowestHz || s.MessageBytes <= 0 || s.Cores <= 0 || s.ResidentBytes <= 0 {
			t.Errorf("%+v", s)
		}
	}
}

// The viewers of a class are let in as learners, and each follows the spotlight.
func TestBenchViewersOfAClass(t *testing.T) {
	out, errs, status := labserver(t, "", "bench", "viewers", "--class", "--viewers", "2,4", "--seconds", "1", "--one-process", "--past-break", "--json")
	var r viewersResult
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != 0 {
		t.Fatalf("%v, status %d: %s%s", err, status, out, errs)
	}
	if len(r.Steps) != 2 || !strings.Contains(r.Processes, "learners of a class") {
		t.Fatalf("%s", out)
	}
	for _, s := range r.Steps {
		if s.Connected != s.Viewers || s.SlowestHz <= 0 || s.Failure != "" {
			t.Errorf("%+v", s)
		}
	}
}

func TestBenchesRefuse(t *testing.T) {
	for _, c := range []struct{ args, names string }{
		{"viewers --viewers 5,2", "--viewers"},
		{"viewers --viewers 0", "--viewers"},
		{"viewers --hz 31", "--hz"},
		{"viewers --seconds 0", "--seconds"},
		{"sessions --sessions 3,3", "--sessions"},
		{"sessions --seconds 5", "--seconds"},
		{"sessions --memory -1", "--memory"},
	} {
		_, errs, status := labserver(t, "", append([]string{"bench"}, strings.Fields(c.args)...)...)
		if status != 2 || !strings.Contains(errs, c.names) {
			t.Errorf("bench %s: status %d, %q", c.args, status, errs)
		}
	}
}
