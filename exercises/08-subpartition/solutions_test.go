package subpartition

import (
	"testing"

	"weir/exercises/08-subpartition/api"
	right "weir/exercises/08-subpartition/solutions/right"
	backlogcountsevents "weir/exercises/08-subpartition/solutions/wrong-backlog-counts-events"
	backlogcountsopen "weir/exercises/08-subpartition/solutions/wrong-backlog-counts-open"
	datawithoutcredit "weir/exercises/08-subpartition/solutions/wrong-data-without-credit"
	eventneedscredit "weir/exercises/08-subpartition/solutions/wrong-event-needs-credit"
	flushstays "weir/exercises/08-subpartition/solutions/wrong-flush-stays"
	flushtellsalways "weir/exercises/08-subpartition/solutions/wrong-flush-tells-always"
	lastpriorityfirst "weir/exercises/08-subpartition/solutions/wrong-last-priority-first"
	notblocked "weir/exercises/08-subpartition/solutions/wrong-not-blocked"
	prioritywaits "weir/exercises/08-subpartition/solutions/wrong-priority-waits"
	readablewithoutflush "weir/exercises/08-subpartition/solutions/wrong-readable-without-flush"
	toldattheedge "weir/exercises/08-subpartition/solutions/wrong-told-at-the-edge"
	starter "weir/exercises/08-subpartition/starter"
	"weir/exercises/history"
	"weir/exercises/history/historytest"
	"weir/exercises/kit"
)

func of(make func() api.Subpartition) func() historytest.Dispatch {
	return func() historytest.Dispatch { return api.Dispatch(make) }
}

func TestSolutions(t *testing.T) {
	historytest.Run(t, Exercise(), map[string]func() historytest.Dispatch{
		"right": of(right.New), "starter": of(starter.New),
		"wrong-backlog-counts-events":  of(backlogcountsevents.New),
		"wrong-backlog-counts-open":    of(backlogcountsopen.New),
		"wrong-data-without-credit":    of(datawithoutcredit.New),
		"wrong-event-needs-credit":     of(eventneedscredit.New),
		"wrong-flush-stays":            of(flushstays.New),
		"wrong-flush-tells-always":     of(flushtellsalways.New),
		"wrong-last-priority-first":    of(lastpriorityfirst.New),
		"wrong-not-blocked":            of(notblocked.New),
		"wrong-priority-waits":         of(prioritywaits.New),
		"wrong-readable-without-flush": of(readablewithoutflush.New),
		"wrong-told-at-the-edge":       of(toldattheedge.New),
	}, 20)
}

// TestRandomRefuses holds the random histories against the wrong solutions, which a script refuses before: some seed of ten
// finds each of them without a script.
func TestRandomRefuses(t *testing.T) {
	for name, make := range map[string]func() api.Subpartition{
		"backlog-counts-events":  backlogcountsevents.New,
		"backlog-counts-open":    backlogcountsopen.New,
		"data-without-credit":    datawithoutcredit.New,
		"event-needs-credit":     eventneedscredit.New,
		"flush-stays":            flushstays.New,
		"flush-tells-always":     flushtellsalways.New,
		"last-priority-first":    lastpriorityfirst.New,
		"not-blocked":            notblocked.New,
		"priority-waits":         prioritywaits.New,
		"readable-without-flush": readablewithoutflush.New,
		"told-at-the-edge":       toldattheedge.New,
	} {
		found := false
		for seed := uint64(1); seed <= 10 && !found; seed++ {
			if f := random(t.Context(), &kit.Work{Core: history.Native(of(make))}, seed); f != nil {
				found = !f.NotJudged
				t.Logf("%s, seed %d: expected %s\nseen %s", name, seed, f.Expected.En, f.Seen.En)
			}
		}
		if !found {
			t.Errorf("%s: no seed finds it", name)
		}
	}
}

// TestJobRefuses runs wrong solutions in a job.
func TestJobRefuses(t *testing.T) {
	for name, make := range map[string]func() api.Subpartition{"toldattheedge": toldattheedge.New, "notblocked": notblocked.New} {
		f := inJob(t.Context(), &kit.Work{Core: history.Native(of(make))}, 1)
		if f == nil || f.NotJudged {
			t.Errorf("%s: the job found nothing: %+v", name, f)
			continue
		}
		t.Logf("%s: %s", name, f.Seen.En)
	}
}
