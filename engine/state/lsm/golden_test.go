package lsm_test

import (
	"testing"

	"weir/engine/golden"
)

// The golden files of this package: the bytes of keys, and the published experiment on each backend.
func TestGolden(t *testing.T) {
	for _, f := range []struct {
		name  string
		cases int
	}{{"composite_key.json", 579}, {"experiments.json", 9}} {
		report, err := golden.Replay("../../../testdata/golden/" + f.name)
		if err != nil {
			t.Fatal(err)
		}
		if report.Cases != f.cases || report.Wrong != 0 {
			t.Errorf("%s: %+v, expected %d cases and none wrong", f.name, report, f.cases)
		}
	}
}
