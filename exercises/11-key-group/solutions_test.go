package keygroup

import (
	"testing"

	"weir/exercises/11-key-group/api"
	right "weir/exercises/11-key-group/solutions/right"
	bytes "weir/exercises/11-key-group/solutions/wrong-bytes"
	longlowword "weir/exercises/11-key-group/solutions/wrong-long-low-word"
	modulosubtask "weir/exercises/11-key-group/solutions/wrong-modulo-subtask"
	nomurmur "weir/exercises/11-key-group/solutions/wrong-no-murmur"
	runes "weir/exercises/11-key-group/solutions/wrong-runes"
	signed "weir/exercises/11-key-group/solutions/wrong-signed"
	signedshift "weir/exercises/11-key-group/solutions/wrong-signed-shift"
	starter "weir/exercises/11-key-group/starter"
	"weir/exercises/history/historytest"
)

func TestSolutions(t *testing.T) {
	of := func(make func() api.Keys) func() historytest.Dispatch {
		return func() historytest.Dispatch { return api.Dispatch(make) }
	}
	historytest.Run(t, Exercise(), map[string]func() historytest.Dispatch{
		"starter":              of(starter.New),
		"right":                of(right.New),
		"wrong-bytes":          of(bytes.New),
		"wrong-long-low-word":  of(longlowword.New),
		"wrong-modulo-subtask": of(modulosubtask.New),
		"wrong-no-murmur":      of(nomurmur.New),
		"wrong-runes":          of(runes.New),
		"wrong-signed":         of(signed.New),
		"wrong-signed-shift":   of(signedshift.New),
	}, 20)
}
