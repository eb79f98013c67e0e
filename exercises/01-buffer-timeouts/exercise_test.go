package buffertimeouts

import (
	"testing"

	"weir/exercises/kit/livetest"
)

func TestAnswers(t *testing.T) { livetest.Predict(t, Exercise()) }
