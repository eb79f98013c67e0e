package compositekey

import (
	"testing"

	"weir/exercises/18-composite-key/api"
	right "weir/exercises/18-composite-key/solutions/right"
	lastgroup "weir/exercises/18-composite-key/solutions/wrong-last-group"
	lengthsbefore "weir/exercises/18-composite-key/solutions/wrong-lengths-before"
	lengthsforone "weir/exercises/18-composite-key/solutions/wrong-lengths-for-one"
	littleendian "weir/exercises/18-composite-key/solutions/wrong-little-endian"
	nolengths "weir/exercises/18-composite-key/solutions/wrong-no-lengths"
	onebyte "weir/exercises/18-composite-key/solutions/wrong-one-byte"
	signedtime "weir/exercises/18-composite-key/solutions/wrong-signed-time"
	statelast "weir/exercises/18-composite-key/solutions/wrong-state-last"
	starter "weir/exercises/18-composite-key/starter"
	"weir/exercises/history/historytest"
)

func TestSolutions(t *testing.T) {
	of := func(make func() api.Keys) func() historytest.Dispatch {
		return func() historytest.Dispatch { return api.Dispatch(make) }
	}
	historytest.Run(t, Exercise(), map[string]func() historytest.Dispatch{
		"starter":               of(starter.New),
		"right":                 of(right.New),
		"wrong-last-group":      of(lastgroup.New),
		"wrong-lengths-before":  of(lengthsbefore.New),
		"wrong-lengths-for-one": of(lengthsforone.New),
		"wrong-little-endian":   of(littleendian.New),
		"wrong-no-lengths":      of(nolengths.New),
		"wrong-one-byte":        of(onebyte.New),
		"wrong-signed-time":     of(signedtime.New),
		"wrong-state-last":      of(statelast.New),
	}, 20)
}
