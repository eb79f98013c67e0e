package localpool

import (
	"testing"

	"weir/exercises/09-local-pool/api"
	right "weir/exercises/09-local-pool/solutions/right"
	deaf "weir/exercises/09-local-pool/solutions/wrong-deaf"
	keepsoverdraft "weir/exercises/09-local-pool/solutions/wrong-keeps-overdraft"
	limitabove "weir/exercises/09-local-pool/solutions/wrong-limit-above"
	limitrefuses "weir/exercises/09-local-pool/solutions/wrong-limit-refuses"
	nomaximum "weir/exercises/09-local-pool/solutions/wrong-no-maximum"
	notahead "weir/exercises/09-local-pool/solutions/wrong-not-ahead"
	onefullisfine "weir/exercises/09-local-pool/solutions/wrong-one-full-is-fine"
	overdraftisavailable "weir/exercises/09-local-pool/solutions/wrong-overdraft-is-available"
	overdraftoffbyone "weir/exercises/09-local-pool/solutions/wrong-overdraft-off-by-one"
	shrinkslater "weir/exercises/09-local-pool/solutions/wrong-shrinks-later"
	starter "weir/exercises/09-local-pool/starter"
	"weir/exercises/history"
	"weir/exercises/history/historytest"
	"weir/exercises/kit"
)

func of(make func() api.Pool) func() historytest.Dispatch {
	return func() historytest.Dispatch { return api.Dispatch(make) }
}

func TestSolutions(t *testing.T) {
	historytest.Run(t, Exercise(), map[string]func() historytest.Dispatch{
		"right": of(right.New), "starter": of(starter.New),
		"wrong-deaf":                   of(deaf.New),
		"wrong-keeps-overdraft":        of(keepsoverdraft.New),
		"wrong-limit-above":            of(limitabove.New),
		"wrong-limit-refuses":          of(limitrefuses.New),
		"wrong-no-maximum":             of(nomaximum.New),
		"wrong-not-ahead":              of(notahead.New),
		"wrong-one-full-is-fine":       of(onefullisfine.New),
		"wrong-overdraft-is-available": of(overdraftisavailable.New),
		"wrong-overdraft-off-by-one":   of(overdraftoffbyone.New),
		"wrong-shrinks-later":          of(shrinkslater.New),
	}, 20)
}

// TestRandomRefuses holds the random histories against the wrong solutions, which a script refuses before: some seed of ten
// finds each of them without a script.
func TestRandomRefuses(t *testing.T) {
	for name, make := range map[string]func() api.Pool{
		"deaf":                   deaf.New,
		"keeps-overdraft":        keepsoverdraft.New,
		"limit-above":            limitabove.New,
		"limit-refuses":          limitrefuses.New,
		"no-maximum":             nomaximum.New,
		"not-ahead":              notahead.New,
		"one-full-is-fine":       onefullisfine.New,
		"overdraft-is-available": overdraftisavailable.New,
		"overdraft-off-by-one":   overdraftoffbyone.New,
		"shrinks-later":          shrinkslater.New,
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
	for name, make := range map[string]func() api.Pool{"limitabove": limitabove.New, "overdraftisavailable": overdraftisavailable.New} {
		f := inJob(t.Context(), &kit.Work{Core: history.Native(of(make))}, 1)
		if f == nil || f.NotJudged {
			t.Errorf("%s: the job found nothing: %+v", name, f)
			continue
		}
		t.Logf("%s: %s", name, f.Seen.En)
	}
}
