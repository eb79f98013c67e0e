package kit

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"

	"weir/labs"
)

// Decider plays what decides a predict exercise: all its runs at once, and once for each work, however many checks look.
type Decider struct {
	question *Question
	scripts  []labs.Script

	mu      sync.Mutex
	work    *Work
	records []*labs.Record
	problem *Finding // there are no records
	stalled *Finding // the machine stalled while they were made
}

// NewDecider makes one for the runs of an exercise. They use the transport and the storage in memory: neither is asked about.
func NewDecider(q *Question, scripts ...labs.Script) *Decider {
	d := &Decider{question: q}
	for _, s := range scripts {
		knobs := map[string]any{"transport": "memory", "checkpointStorage": "memory"}
		for name, v := range s.Knobs {
			knobs[name] = v
		}
		s.Knobs = knobs
		d.scripts = append(d.scripts, s)
	}
	return d
}

// Records are those of the runs, in the order of the scripts. The finding says why there are none.
func (d *Decider) Records(ctx context.Context, w *Work) ([]*labs.Record, *Finding) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.work == w {
		return d.records, d.problem
	}
	d.work, d.records, d.problem, d.stalled = w, make([]*labs.Record, len(d.scripts)), nil, nil
	errs := make([]error, len(d.scripts))
	var wg sync.WaitGroup
	for i := range d.scripts {
		wg.Go(func() { d.records[i], errs[i] = d.scripts[i].Play(ctx) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			d.problem = notJudged("The run that decides did not work: %v.", "用来判定的运行没有成功：%v。", err)
		} else if f := Stalled(d.records[i]); f != nil && d.stalled == nil {
			d.stalled = f
		}
	}
	if d.problem == nil && w.Record == nil {
		w.Record = d.records[0]
	}
	return d.records, d.problem
}

// wrong is the finding of an answer that the run speaks against, unless the machine stalled: then nothing can be said.
func (d *Decider) wrong(f *Finding) *Finding {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stalled == nil {
		return f
	}
	not := *d.stalled
	not.Expected = f.Expected
	return &not
}

// Number makes a check of a field with a number. The run's own figure decides: the two may differ by a share of the larger
// one (0.3 is 30 %). why says where the figure comes from.
func (d *Decider) Number(def Def, field, unit string, within float64, measure func([]*labs.Record) float64, why labs.Text) Def {
	def.Run = func(ctx context.Context, w *Work, _ uint64) *Finding {
		said, ok := w.Answer[field].(float64)
		if !ok {
			return noAnswer(field)
		}
		records, f := d.Records(ctx, w)
		if f != nil {
			return f
		}
		is := measure(records)
		if math.Abs(said-is) <= within*math.Max(1, math.Max(said, is)) {
			return nil
		}
		return d.wrong(&Finding{
			Expected: Textf("The run shows %[1]s%[2]s; within %.0[3]f %% counts.", "运行的结果是 %[1]s%[2]s；相差 %.0[3]f %% 以内算对。", figure(is), after(unit), 100*within),
			Seen:     Textf("You said %s%s.", "你的回答是 %s%s。", figure(said), after(unit)),
			Where:    Textf("The field %s of the question.", "题目中的 %s。", field),
			Try:      why,
		})
	}
	return def
}

// Choose makes a check of a field with choices: the run tells which one it is, and why explains it.
func (d *Decider) Choose(def Def, field string, measure func([]*labs.Record) (choice string, seen labs.Text), why labs.Text) Def {
	def.Run = func(ctx context.Context, w *Work, _ uint64) *Finding {
		said, ok := w.Answer[field].(string)
		if !ok {
			return noAnswer(field)
		}
		records, f := d.Records(ctx, w)
		if f != nil {
			return f
		}
		is, seen := measure(records)
		if is == said {
			return nil
		}
		return d.wrong(&Finding{
			Expected: labs.Text{En: "The run says: " + d.label(field, is).En + ". " + seen.En, Zh: "运行的结果是：" + d.label(field, is).Zh + "。" + seen.Zh},
			Seen:     labs.Text{En: "You said: " + d.label(field, said).En + ".", Zh: "你的回答是：" + d.label(field, said).Zh + "。"},
			Where:    Textf("The field %s of the question.", "题目中的 %s。", field),
			Try:      why,
		})
	}
	return def
}

// label is what the page calls a choice.
func (d *Decider) label(field, value string) labs.Text {
	for i := range d.question.Fields {
		if f := &d.question.Fields[i]; f.Name == field {
			for _, c := range f.Choices {
				if c.Value == value {
					return c.Label
				}
			}
		}
	}
	return labs.Text{En: value, Zh: value}
}

func noAnswer(field string) *Finding {
	return &Finding{
		Expected: Textf("An answer to %s.", "对 %s 的回答。", field),
		Seen:     labs.Text{En: "There is none.", Zh: "还没有。"},
		Where:    labs.Text{En: "answer.json", Zh: "answer.json"},
		Try:      labs.Text{En: "Commit to an answer before the run: a wrong one teaches more than none.", Zh: "先写下回答再运行：答错也比不答学得多。"},
	}
}

func after(unit string) string {
	if unit == "" {
		return ""
	}
	return " " + unit
}

// figure writes a number with as many digits as anyone reads.
func figure(f float64) string {
	if math.Abs(f) >= 100 {
		return strconv.FormatFloat(math.Round(f), 'f', -1, 64)
	}
	return fmt.Sprintf("%.3g", f)
}
