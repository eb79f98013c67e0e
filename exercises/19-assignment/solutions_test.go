package assignment

import (
	"testing"

	"weir/exercises/19-assignment/api"
	right "weir/exercises/19-assignment/solutions/right"
	broadcastjoined "weir/exercises/19-assignment/solutions/wrong-broadcast-joined"
	broadcastown "weir/exercises/19-assignment/solutions/wrong-broadcast-own"
	dropoverlap "weir/exercises/19-assignment/solutions/wrong-drop-overlap"
	nostart "weir/exercises/19-assignment/solutions/wrong-no-start"
	oneheir "weir/exercises/19-assignment/solutions/wrong-one-heir"
	roundrobin "weir/exercises/19-assignment/solutions/wrong-round-robin"
	samedealt "weir/exercises/19-assignment/solutions/wrong-same-dealt"
	unionshared "weir/exercises/19-assignment/solutions/wrong-union-shared"
	wholehandles "weir/exercises/19-assignment/solutions/wrong-whole-handles"
	starter "weir/exercises/19-assignment/starter"
	"weir/exercises/history/historytest"
)

func TestSolutions(t *testing.T) {
	of := func(make func() api.Assigner) func() historytest.Dispatch {
		return func() historytest.Dispatch { return api.Dispatch(make) }
	}
	historytest.Run(t, Exercise(), map[string]func() historytest.Dispatch{
		"starter":                of(starter.New),
		"right":                  of(right.New),
		"wrong-broadcast-joined": of(broadcastjoined.New),
		"wrong-broadcast-own":    of(broadcastown.New),
		"wrong-drop-overlap":     of(dropoverlap.New),
		"wrong-no-start":         of(nostart.New),
		"wrong-one-heir":         of(oneheir.New),
		"wrong-round-robin":      of(roundrobin.New),
		"wrong-same-dealt":       of(samedealt.New),
		"wrong-union-shared":     of(unionshared.New),
		"wrong-whole-handles":    of(wholehandles.New),
	}, 20)
}
