package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"weir/exercises/kit"
	"weir/exercises/kit/runner"
)

// folderOf is where the work on an exercise lies, as runner.Load finds it.
func folderOf(dir string, e *kit.Exercise, only bool) string {
	folder := filepath.Join(dir, e.ID)
	if _, err := os.Stat(folder); only && errors.Is(err, fs.ErrNotExist) {
		return dir
	}
	return folder
}

// firstAnswer puts the answer that was committed to, if there is one, in the place of a later one, and says so.
func firstAnswer(folder string, e *kit.Exercise, sub *runner.Submission, s streams) error {
	if e.Kind != kit.Predict || sub.Answer == nil {
		return nil
	}
	first, err := kit.ReadCommitted(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var now map[string]any
	if json.Unmarshal(sub.Answer, &now) == nil && reflect.DeepEqual(now, first.Answer) {
		return nil
	}
	text := (&kit.CommittedError{First: first}).Text()
	if _, err := fmt.Fprintf(s.err, "labserver: %s: %s\n", e.ID, text.In(terminalLanguage(os.Getenv))); err != nil {
		return err
	}
	sub.Answer, err = json.Marshal(first.Answer)
	return err
}

// commitAnswer keeps an answer that was judged: from now on it is the one that counts.
func commitAnswer(folder string, e *kit.Exercise, sub *runner.Submission, r *kit.Result) error {
	if e.Kind != kit.Predict || sub.Answer == nil || r.Problem.En != "" {
		return nil
	}
	var answer map[string]any
	if err := json.Unmarshal(sub.Answer, &answer); err != nil {
		return err
	}
	_, err := kit.Commit(folder, e.ID, answer, time.Now())
	return err
}
