package hardbackpressure

import (
	"testing"

	"weir/exercises/kit/livetest"
)

func TestSolutions(t *testing.T) { livetest.Live(t, Exercise()) }

func TestInRealTime(t *testing.T) {
	t.Parallel()
	livetest.Real(t, Exercise(), "right")
}
