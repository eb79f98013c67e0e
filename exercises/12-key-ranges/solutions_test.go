package keyranges

import (
	"testing"

	"weir/exercises/12-key-ranges/api"
	right "weir/exercises/12-key-ranges/solutions/right"
	floorend "weir/exercises/12-key-ranges/solutions/wrong-floor-end"
	inclusiveend "weir/exercises/12-key-ranges/solutions/wrong-inclusive-end"
	mergedmoves "weir/exercises/12-key-ranges/solutions/wrong-merged-moves"
	neighboursonly "weir/exercises/12-key-ranges/solutions/wrong-neighbours-only"
	owner "weir/exercises/12-key-ranges/solutions/wrong-owner"
	restfirst "weir/exercises/12-key-ranges/solutions/wrong-rest-first"
	restlast "weir/exercises/12-key-ranges/solutions/wrong-rest-last"
	starter "weir/exercises/12-key-ranges/starter"
	"weir/exercises/history/historytest"
)

func TestSolutions(t *testing.T) {
	of := func(make func() api.Ranges) func() historytest.Dispatch {
		return func() historytest.Dispatch { return api.Dispatch(make) }
	}
	historytest.Run(t, Exercise(), map[string]func() historytest.Dispatch{
		"starter":               of(starter.New),
		"right":                 of(right.New),
		"wrong-floor-end":       of(floorend.New),
		"wrong-inclusive-end":   of(inclusiveend.New),
		"wrong-merged-moves":    of(mergedmoves.New),
		"wrong-neighbours-only": of(neighboursonly.New),
		"wrong-owner":           of(owner.New),
		"wrong-rest-first":      of(restfirst.New),
		"wrong-rest-last":       of(restlast.New),
	}, 20)
}
