package metric_test

import (
	"testing"

	"weir/engine/golden"
)

// TestGolden replays what real Flink answered.
func TestGolden(t *testing.T) {
	for _, f := range []struct {
		name  string
		cases int
	}{
		{"timer_gauge.json", 22},
		{"metric_names.json", 17},
		{"prometheus_exposition.txt", 97},
	} {
		report, err := golden.Replay("../../testdata/golden/" + f.name)
		if err != nil {
			t.Fatal(err)
		}
		if report.Cases != f.cases || report.Wrong != 0 {
			t.Errorf("%s: %+v, expected %d cases and none wrong", f.name, report, f.cases)
		}
	}
}
