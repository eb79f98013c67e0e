package announce

import (
	"testing"

	"weir/exercises/06-announce/api"
	right "weir/exercises/06-announce/solutions/right"
	each "weir/exercises/06-announce/solutions/wrong-each-buffer"
	empty "weir/exercises/06-announce/solutions/wrong-empty-step"
	lost "weir/exercises/06-announce/solutions/wrong-lost-credit"
	never "weir/exercises/06-announce/solutions/wrong-never-reset"
	oneeach "weir/exercises/06-announce/solutions/wrong-one-a-message"
	one "weir/exercises/06-announce/solutions/wrong-only-one"
	threshold "weir/exercises/06-announce/solutions/wrong-threshold"
	starter "weir/exercises/06-announce/starter"
	"weir/exercises/history"
	"weir/exercises/history/historytest"
	"weir/exercises/kit"
)

func of(make func() api.Announcer) func() historytest.Dispatch {
	return func() historytest.Dispatch { return api.Dispatch(make) }
}

func TestSolutions(t *testing.T) {
	historytest.Run(t, Exercise(), map[string]func() historytest.Dispatch{
		"right": of(right.New), "starter": of(starter.New), "wrong-each-buffer": of(each.New), "wrong-empty-step": of(empty.New), "wrong-lost-credit": of(lost.New),
		"wrong-never-reset": of(never.New), "wrong-one-a-message": of(oneeach.New), "wrong-only-one": of(one.New), "wrong-threshold": of(threshold.New),
	}, 20)
}

// TestJobRefuses holds the job check against the wrong solutions that only it would see if the scripts were not there.
func TestJobRefuses(t *testing.T) {
	for name, make := range map[string]func() api.Announcer{"starter": starter.New, "never reset": never.New} {
		w := &kit.Work{Core: history.Native(of(make))}
		f := inJob(t.Context(), w, 1)
		if f == nil || f.NotJudged {
			t.Errorf("%s: the job found nothing: %+v", name, f)
			continue
		}
		t.Logf("%s: %s", name, f.Seen.En)
	}
}
