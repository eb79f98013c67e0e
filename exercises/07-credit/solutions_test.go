package credit

import (
	"testing"

	"weir/exercises/07-credit/api"
	right "weir/exercises/07-credit/solutions/right"
	backlogalone "weir/exercises/07-credit/solutions/wrong-backlog-alone"
	creditreplaced "weir/exercises/07-credit/solutions/wrong-credit-replaced"
	eventcostscredit "weir/exercises/07-credit/solutions/wrong-event-costs-credit"
	eventneedscredit "weir/exercises/07-credit/solutions/wrong-event-needs-credit"
	exclusivefirst "weir/exercises/07-credit/solutions/wrong-exclusive-first"
	forgetfloating "weir/exercises/07-credit/solutions/wrong-forget-floating"
	keepssurplus "weir/exercises/07-credit/solutions/wrong-keeps-surplus"
	lostcredit "weir/exercises/07-credit/solutions/wrong-lost-credit"
	offbyone "weir/exercises/07-credit/solutions/wrong-off-by-one"
	requiredstays "weir/exercises/07-credit/solutions/wrong-required-stays"
	surplusiscredit "weir/exercises/07-credit/solutions/wrong-surplus-is-credit"
	starter "weir/exercises/07-credit/starter"
	"weir/exercises/history"
	"weir/exercises/history/historytest"
	"weir/exercises/kit"
)

func of(make func() api.Ends) func() historytest.Dispatch {
	return func() historytest.Dispatch { return api.Dispatch(make) }
}

func TestSolutions(t *testing.T) {
	historytest.Run(t, Exercise(), map[string]func() historytest.Dispatch{
		"right": of(right.New), "starter": of(starter.New),
		"wrong-backlog-alone":      of(backlogalone.New),
		"wrong-credit-replaced":    of(creditreplaced.New),
		"wrong-event-costs-credit": of(eventcostscredit.New),
		"wrong-event-needs-credit": of(eventneedscredit.New),
		"wrong-exclusive-first":    of(exclusivefirst.New),
		"wrong-forget-floating":    of(forgetfloating.New),
		"wrong-keeps-surplus":      of(keepssurplus.New),
		"wrong-lost-credit":        of(lostcredit.New),
		"wrong-off-by-one":         of(offbyone.New),
		"wrong-required-stays":     of(requiredstays.New),
		"wrong-surplus-is-credit":  of(surplusiscredit.New),
	}, 20)
}

// TestRandomRefuses holds the random histories against the wrong solutions, which a script refuses before: some seed of ten
// finds each of them without a script.
func TestRandomRefuses(t *testing.T) {
	for name, make := range map[string]func() api.Ends{
		"backlog-alone":      backlogalone.New,
		"credit-replaced":    creditreplaced.New,
		"event-costs-credit": eventcostscredit.New,
		"event-needs-credit": eventneedscredit.New,
		"exclusive-first":    exclusivefirst.New,
		"forget-floating":    forgetfloating.New,
		"keeps-surplus":      keepssurplus.New,
		"lost-credit":        lostcredit.New,
		"off-by-one":         offbyone.New,
		"required-stays":     requiredstays.New,
		"surplus-is-credit":  surplusiscredit.New,
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
	for name, make := range map[string]func() api.Ends{"starter": starter.New, "offbyone": offbyone.New} {
		f := inJob(t.Context(), &kit.Work{Core: history.Native(of(make))}, 1)
		if f == nil || f.NotJudged {
			t.Errorf("%s: the job found nothing: %+v", name, f)
			continue
		}
		t.Logf("%s: %s", name, f.Seen.En)
	}
}
