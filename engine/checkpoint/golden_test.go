package checkpoint_test

import (
	"testing"

	"weir/engine/golden"
)

// The golden file of this package: which entries of operator state go to which subtask.
func TestGolden(t *testing.T) {
	report, err := golden.Replay("../../testdata/golden/operator_state_repartition.json")
	if err != nil {
		t.Fatal(err)
	}
	if report.Cases != 87 || report.Wrong != 0 {
		t.Errorf("%+v, expected 87 cases and none wrong", report)
	}
}
