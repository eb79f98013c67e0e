package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/exercises/kit"
	"weir/exercises/kit/runner"
	"weir/labs"
)

func TestALaterAnswerIsNotJudged(t *testing.T) {
	t.Setenv("LC_ALL", "en_GB")
	dir := t.TempDir()
	e := &kit.Exercise{ID: "guess", Kind: kit.Predict}
	if got := folderOf(dir, e, true); got != dir {
		t.Errorf("folder %s", got)
	}
	folder := filepath.Join(dir, "guess")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	s := streams{out: &out, err: &errs}
	if got := folderOf(dir, e, true); got != folder {
		t.Errorf("folder %s", got)
	}
	first := &runner.Submission{Answer: []byte(`{"n": 1}`)}
	if err := firstAnswer(folder, e, first, s); err != nil || errs.Len() > 0 {
		t.Fatal(err, errs.String())
	}
	// One that could not be judged is not committed to.
	if err := commitAnswer(folder, e, first, &kit.Result{Problem: labs.Text{En: "a field is missing"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := kit.ReadCommitted(folder); err == nil {
		t.Error("half an answer counts")
	}
	if err := commitAnswer(folder, e, first, &kit.Result{}); err != nil {
		t.Fatal(err)
	}
	same := &runner.Submission{Answer: []byte(`{"n":1.0}`)}
	if err := firstAnswer(folder, e, same, s); err != nil || errs.Len() > 0 {
		t.Error(err, errs.String())
	}
	second := &runner.Submission{Answer: []byte(`{"n":2}`)}
	if err := firstAnswer(folder, e, second, s); err != nil || string(second.Answer) != `{"n":1}` || !strings.Contains(errs.String(), `guess: The first answer counts: {"n":1}`) {
		t.Errorf("%v %s %s", err, second.Answer, errs.String())
	}
}
