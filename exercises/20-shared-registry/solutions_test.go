package sharedregistry

import (
	"testing"

	"weir/exercises/20-shared-registry/api"
	right "weir/exercises/20-shared-registry/solutions/right"
	abortdeletesreused "weir/exercises/20-shared-registry/solutions/wrong-abort-deletes-reused"
	bycreator "weir/exercises/20-shared-registry/solutions/wrong-by-creator"
	halfregistered "weir/exercises/20-shared-registry/solutions/wrong-half-registered"
	latenotification "weir/exercises/20-shared-registry/solutions/wrong-late-notification"
	leak "weir/exercises/20-shared-registry/solutions/wrong-leak"
	offbyone "weir/exercises/20-shared-registry/solutions/wrong-off-by-one"
	reusetooearly "weir/exercises/20-shared-registry/solutions/wrong-reuse-too-early"
	unknownaccepted "weir/exercises/20-shared-registry/solutions/wrong-unknown-accepted"
	starter "weir/exercises/20-shared-registry/starter"
	"weir/exercises/history/historytest"
)

func TestSolutions(t *testing.T) {
	of := func(make func() api.Core) func() historytest.Dispatch {
		return func() historytest.Dispatch { return api.Dispatch(make) }
	}
	historytest.Run(t, Exercise(), map[string]func() historytest.Dispatch{
		"starter":                    of(starter.New),
		"right":                      of(right.New),
		"wrong-abort-deletes-reused": of(abortdeletesreused.New),
		"wrong-by-creator":           of(bycreator.New),
		"wrong-half-registered":      of(halfregistered.New),
		"wrong-late-notification":    of(latenotification.New),
		"wrong-leak":                 of(leak.New),
		"wrong-off-by-one":           of(offbyone.New),
		"wrong-reuse-too-early":      of(reusetooearly.New),
		"wrong-unknown-accepted":     of(unknownaccepted.New),
	}, 20)
}
