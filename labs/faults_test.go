package labs

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestFaultActions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, jobs := startFake(t, StartOptions{Lab: "backpressure"})
		defer r.Close()
		for _, c := range []struct {
			name string
			args map[string]any
			asks string
		}{
			{"cutConnection", map[string]any{"from": 1.0, "to": 0.0}, "cutConnection 1 0"},
			{"damageFrame", map[string]any{"from": "0", "to": "1"}, "damageFrame 0 1"},
			{"stopReading", nil, "stopReading 0 1"},
		} {
			if _, err := r.Action(c.name, c.args); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			if got := (*jobs)[0].asked; got[len(got)-1] != c.asks {
				t.Errorf("%s asked for %v", c.name, got)
			}
		}
		var ae *ActionError
		for _, bad := range []any{-1.0, 0.5, "two", 99, true} {
			if _, err := r.Action("cutConnection", map[string]any{"to": bad}); !errors.As(err, &ae) || ae.Field != "to" {
				t.Errorf("to %v: %v", bad, err)
			}
		}
	})
}

// TestALabSurvivesAFault cuts a connection of the running lab, which goes on from its last checkpoint.
func TestALabSurvivesAFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := Start(StartOptions{Lab: "backpressure", Knobs: map[string]any{"transport": "memory", "rate": 1000, "checkpointStorage": "memory"}})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		time.Sleep(12 * time.Second)
		var ae *ActionError
		if _, err := r.Action("cutConnection", map[string]any{"from": 0, "to": 5}); !errors.As(err, &ae) || !strings.Contains(err.Error(), "there are 0 to 1, 1 to 0") {
			t.Errorf("a connection that there is not: %v", err)
		}
		if _, err := r.Action("cutConnection", map[string]any{"from": 0, "to": 1}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond)
		if s := r.Snapshot(); s.State != "RESTARTING" || !strings.Contains(s.Failure, "task slow-map 1: network: the connection from tm 0 to tm 1 was cut") {
			t.Errorf("%s, failure %q", s.State, s.Failure)
		}
		if _, err := r.Set(map[string]any{"workMs": 0.5}); err != nil { // a knob moves meanwhile
			t.Error(err)
		}
		time.Sleep(5 * time.Second)
		if s := r.Snapshot(); s.State != "RUNNING" || s.Restarts != 1 || s.RestoredCheckpointID != 2 || s.Knobs["workMs"] != 0.5 {
			t.Errorf("%s after %d restarts, restored %d, %v", s.State, s.Restarts, s.RestoredCheckpointID, s.Knobs["workMs"])
		}
		if r.Err() != nil {
			t.Error(r.Err())
		}
	})
}
