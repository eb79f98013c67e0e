package ttl

import (
	"testing"

	"weir/exercises/kit/livetest"
)

func TestSolutions(t *testing.T) { livetest.Live(t, Exercise()) }
