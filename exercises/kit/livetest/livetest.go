// Package livetest holds the solutions of live and predict exercises against their checks: runs are played, and predictions
// decided, in fake time.
package livetest

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"weir/exercises/kit"
	"weir/labs"
	"weir/labs/labtest"
)

// Solution is a run.json of a live exercise.
type Solution struct {
	labs.Script
	// RefusedBy is the check that a wrong solution fails first; "record" is one that cannot be read.
	RefusedBy string `json:"refusedBy,omitempty"`
	// Edit puts other knobs into the finished record, as a learner with an editor would.
	Edit map[string]any `json:"edit,omitempty"`
	// Forge gives the edited record a digest that matches.
	Forge bool `json:"forge,omitempty"`
}

// Live plays every solution under solutions/ and judges its record as it is read from its file: the right one passes all
// checks, each wrong one is refused by the check that it names. Under the race detector the right one is played alone: the
// wrong ones run the same code.
func Live(t *testing.T, e *kit.Exercise) {
	t.Helper()
	for _, name := range names(t, "run.json") {
		if Raced && name != "right" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s := load(t, name)
			judge(t, e, name, s, labtest.Play(t, &s.Script))
		})
	}
}

// Real plays a right solution in real time. A machine that stalls meanwhile is not judged, as for a learner; one that is
// merely loaded gets a second run.
func Real(t *testing.T, e *kit.Exercise, name string) {
	t.Helper()
	if testing.Short() || Raced {
		t.Skip("runs in real time")
	}
	s := load(t, name)
	r, err := s.Play(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !passes(e, r) {
		t.Log("the first run did not pass: once more")
		if r, err = s.Play(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	judge(t, e, name, s, r)
}

// passes tells whether a record passes every check.
func passes(e *kit.Exercise, r *labs.Record) bool {
	return !slices.ContainsFunc(e.Checks, func(d kit.Def) bool {
		return d.Run(context.Background(), &kit.Work{Record: r}, 0) != nil
	})
}

func load(t *testing.T, name string) *Solution {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("solutions", name, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var s Solution
	if err := d.Decode(&s); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return &s
}

func names(t *testing.T, file string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("solutions", "*", file))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, f := range files {
		list = append(list, filepath.Base(filepath.Dir(f)))
	}
	if len(list) < 5 || !slices.Contains(list, "right") {
		t.Errorf("solutions %v: expected right and at least four wrong", list)
	}
	return list
}

func judge(t *testing.T, e *kit.Exercise, name string, s *Solution, r *labs.Record) {
	t.Helper()
	file := labtest.Bytes(t, r)
	if s.Edit != nil {
		file = edit(t, file, s.Edit, s.Forge)
	}
	read, origin, err := labs.ReadRecord(bytes.NewReader(file))
	var refused *labs.RecordError
	switch {
	case s.RefusedBy == "record":
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "digest does not match") || refused.Reason.Zh == "" {
			t.Errorf("reading an edited record: %v", err)
		}
		return
	case err != nil || origin != labs.OriginReported:
		t.Fatalf("%s, %v", origin, err)
	}
	verdict(t, e, name, s.RefusedBy, &kit.Work{Record: read})
}

// verdict runs the checks in their order, as the runner does.
func verdict(t *testing.T, e *kit.Exercise, name, refusedBy string, w *kit.Work) {
	t.Helper()
	first, passed := "", map[string]bool{}
	for i := range e.Checks {
		d := &e.Checks[i]
		if slices.ContainsFunc(d.Needs, func(id string) bool { return !passed[id] }) {
			continue
		}
		f := d.Run(context.Background(), w, 0)
		if f == nil {
			passed[d.ID] = true
			continue
		}
		if f.NotJudged {
			t.Skipf("%s is not judged: %s", d.ID, f.Seen.En)
		}
		t.Logf("%s: expected %s seen %s try %s / %s", d.ID, f.Expected.En, f.Seen.En, f.Try.En, f.Seen.Zh)
		for _, x := range []labs.Text{f.Expected, f.Seen, f.Where, f.Try} {
			if x.En == "" || x.Zh == "" || strings.Contains(x.En+x.Zh, "%!") {
				t.Errorf("%s: a text is missing or ill formed: %+v", d.ID, x)
			}
		}
		if first == "" {
			first = d.ID
		}
	}
	if first != refusedBy {
		t.Errorf("%s is refused by %q, want %q", name, first, refusedBy)
	}
	if (name == "right") != (refusedBy == "") {
		t.Errorf("%s: refused by %q?", name, refusedBy)
	}
}

// edit puts knobs into a record's file.
func edit(t *testing.T, file []byte, knobs map[string]any, forge bool) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var envelope map[string]json.RawMessage
	if err := json.Unmarshal(b, &envelope); err != nil {
		t.Fatal(err)
	}
	var content map[string]json.RawMessage
	if err := json.Unmarshal(envelope["content"], &content); err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(content["knobs"], &all); err != nil {
		t.Fatal(err)
	}
	maps.Copy(all, knobs)
	content["knobs"], envelope["content"] = marshal(t, all), nil
	body := marshal(t, content)
	envelope["content"] = body
	if forge {
		digest := sha256.Sum256(body)
		envelope["digest"] = marshal(t, hex.EncodeToString(digest[:]))
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(marshal(t, envelope)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Predict judges every solutions/*/answer.json; what refuses a wrong one stands beside it in refused-by. The deciding runs
// are played in fake time.
func Predict(t *testing.T, e *kit.Exercise) {
	t.Helper()
	for _, name := range names(t, "answer.json") {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("solutions", name)
			b, err := os.ReadFile(filepath.Join(dir, "answer.json"))
			if err != nil {
				t.Fatal(err)
			}
			var answer map[string]any
			if err := json.Unmarshal(b, &answer); err != nil {
				t.Fatal(err)
			}
			answers(t, e, answer)
			refusedBy := ""
			if name != "right" {
				b, err := os.ReadFile(filepath.Join(dir, "refused-by"))
				if err != nil {
					t.Fatal(err)
				}
				refusedBy = strings.TrimSpace(string(b))
			}
			synctest.Test(t, func(t *testing.T) {
				verdict(t, e, name, refusedBy, &kit.Work{Answer: answer})
			})
		})
	}
}

// answers holds an answer to the question's fields.
func answers(t *testing.T, e *kit.Exercise, answer map[string]any) {
	t.Helper()
	for _, f := range e.Question.Fields {
		switch v := answer[f.Name].(type) {
		case float64:
			if len(f.Choices) > 0 {
				t.Errorf("%s is a choice", f.Name)
			}
		case string:
			if !slices.ContainsFunc(f.Choices, func(c kit.Choice) bool { return c.Value == v }) {
				t.Errorf("%s: %q is no choice", f.Name, v)
			}
		default:
			t.Errorf("%s is not answered", f.Name)
		}
	}
	if len(answer) != len(e.Question.Fields) {
		t.Errorf("%d answers to %d questions", len(answer), len(e.Question.Fields))
	}
}
