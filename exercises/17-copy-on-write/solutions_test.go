package copyonwrite

import (
	"testing"

	"weir/exercises/17-copy-on-write/api"
	right "weir/exercises/17-copy-on-write/solutions/right"
	copieseachtime "weir/exercises/17-copy-on-write/solutions/wrong-copies-each-time"
	copytoolate "weir/exercises/17-copy-on-write/solutions/wrong-copy-too-late"
	deepsnapshot "weir/exercises/17-copy-on-write/solutions/wrong-deep-snapshot"
	getshares "weir/exercises/17-copy-on-write/solutions/wrong-get-shares"
	releaseall "weir/exercises/17-copy-on-write/solutions/wrong-release-all"
	releasenothing "weir/exercises/17-copy-on-write/solutions/wrong-release-nothing"
	valueonly "weir/exercises/17-copy-on-write/solutions/wrong-value-only"
	versionlate "weir/exercises/17-copy-on-write/solutions/wrong-version-late"
	view "weir/exercises/17-copy-on-write/solutions/wrong-view"
	starter "weir/exercises/17-copy-on-write/starter"
	"weir/exercises/history/historytest"
)

func TestSolutions(t *testing.T) {
	of := func(make func() api.Map) func() historytest.Dispatch {
		return func() historytest.Dispatch { return api.Dispatch(make) }
	}
	historytest.Run(t, Exercise(), map[string]func() historytest.Dispatch{
		"starter":                of(starter.New),
		"right":                  of(right.New),
		"wrong-copies-each-time": of(copieseachtime.New),
		"wrong-copy-too-late":    of(copytoolate.New),
		"wrong-deep-snapshot":    of(deepsnapshot.New),
		"wrong-get-shares":       of(getshares.New),
		"wrong-release-all":      of(releaseall.New),
		"wrong-release-nothing":  of(releasenothing.New),
		"wrong-value-only":       of(valueonly.New),
		"wrong-version-late":     of(versionlate.New),
		"wrong-view":             of(view.New),
	}, 20)
}
