package kit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"weir/labs"
	"weir/whole"
)

// CommittedFile is where the first answer to a predict exercise is kept, beside answer.json.
const CommittedFile = "committed.json"

// Committed is the answer that counts: the first, with its time. What was learned from the run cannot be put into it.
type Committed struct {
	Exercise string         `json:"exercise"`
	At       time.Time      `json:"at"`
	Answer   map[string]any `json:"answer"`
}

// CommittedError refuses a second answer and has the first.
type CommittedError struct{ First *Committed }

func (e *CommittedError) Error() string { return e.Text().En }

// Text says so to a learner.
func (e *CommittedError) Text() labs.Text {
	b, err := json.Marshal(e.First.Answer)
	if err != nil {
		b = nil
	}
	when := e.First.At.Format("2006-01-02 15:04")
	return Textf("The first answer counts: %[1]s, committed at %[2]s.", "以第一次的回答为准：%[1]s，提交于 %[2]s。", b, when)
}

// Commit keeps an answer in the exercise's folder, once. If there is one already it answers that, with a *CommittedError if
// the new one is another. Two at once leave one.
func Commit(dir, exercise string, answer map[string]any, now time.Time) (*Committed, error) {
	path := filepath.Join(dir, CommittedFile)
	mine := &Committed{exercise, now.UTC().Truncate(time.Second), answer}
	b, err := json.MarshalIndent(mine, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("exercise %s: answer: %w", exercise, err)
	}
	err = whole.Create(path, append(b, '\n'))
	if err == nil {
		return mine, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("exercise %s: answer: %w", exercise, err)
	}
	first, err := ReadCommitted(dir)
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(first.Answer, answer) {
		return first, &CommittedError{first}
	}
	return first, nil
}

// ReadCommitted reads the answer that counts; the error is fs.ErrNotExist before there is one.
func ReadCommitted(dir string) (*Committed, error) {
	path := filepath.Join(dir, CommittedFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var c Committed
	if err := json.Unmarshal(b, &c); err != nil || c.Answer == nil {
		return nil, fmt.Errorf("%s does not hold an answer: %w", path, errors.Join(err, errors.New("restore or delete it")))
	}
	return &c, nil
}
