package runner

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"weir/exercises/kit"
	"weir/labs"
)

// Submission is what a learner hands in for one exercise: the bytes of the files, nil where there is none.
type Submission struct {
	Core   []byte // core.go
	Answer []byte // answer.json
	Record []byte // run.weir
}

// mostFileBytes bounds a file of a submission.
const mostFileBytes = 16 << 20

// Load reads what a folder has for an exercise: DIR/<id>/core.go, answer.json or run.weir. If it is the only exercise
// asked for, the files may also lie in DIR itself.
func Load(dir string, e *kit.Exercise, only bool) (Submission, error) {
	var s Submission
	folder := filepath.Join(dir, e.ID)
	if _, err := os.Stat(folder); only && errors.Is(err, fs.ErrNotExist) {
		folder = dir
	}
	for _, f := range []struct {
		name string
		to   *[]byte
	}{{kit.CoreFile, &s.Core}, {kit.AnswerFile, &s.Answer}, {kit.RecordFile, &s.Record}} {
		b, err := readFile(filepath.Join(folder, f.name))
		if err != nil {
			return s, err
		}
		*f.to = b
	}
	s.Answer = bytes.TrimPrefix(s.Answer, []byte("\uFEFF")) // an editor on Windows may begin a file with it
	return s, nil
}

// readFile answers nil for a file that is not there.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file: put your work there as one", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, mostFileBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(b) > mostFileBytes:
		return nil, fmt.Errorf("%s has more than %d MiB", path, mostFileBytes>>20)
	case b == nil:
		b = []byte{}
	}
	return b, nil
}

// Digest names the work: equal work has an equal one. It is empty without work.
func (s *Submission) Digest() string {
	h := sha256.New()
	any := false
	for _, b := range [][]byte{s.Core, s.Answer, s.Record} {
		any = any || b != nil
		_, _ = fmt.Fprintf(h, "%d %t\n", len(b), b != nil)
		h.Write(b)
	}
	if !any {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// missing says which file an exercise waits for; nothing if it is there.
func (s *Submission) missing(e *kit.Exercise) labs.Text {
	switch {
	case e.Kind == kit.Code && s.Core == nil:
		return labs.Text{
			En: fmt.Sprintf("There is no %s/core.go yet: labserver new %s writes one to fill in.", e.ID, e.ID),
			Zh: fmt.Sprintf("还没有 %s/core.go：用 labserver new %s 生成一个来填写。", e.ID, e.ID),
		}
	case e.Kind == kit.Predict && s.Answer == nil:
		return labs.Text{
			En: fmt.Sprintf("There is no %s/answer.json yet: answer on the exercise's page, or labserver new %s writes one to fill in.", e.ID, e.ID),
			Zh: fmt.Sprintf("还没有 %s/answer.json：在练习页面上作答，或用 labserver new %s 生成一个来填写。", e.ID, e.ID),
		}
	case e.Kind == kit.Live && s.Record == nil:
		return labs.Text{
			En: fmt.Sprintf("There is no %s/run.weir yet: reach the goal on the page of lab %s, or with labserver run %s --record FILE, and put the run's record there.", e.ID, e.Lab, e.Lab),
			Zh: fmt.Sprintf("还没有 %s/run.weir：在实验 %s 的页面上，或用 labserver run %s --record FILE 达成目标，再把运行记录放到那里。", e.ID, e.Lab, e.Lab),
		}
	}
	return labs.Text{}
}

// work turns the files of a predict or live exercise into what checks read. A problem is one of the files.
func (s *Submission) work(e *kit.Exercise, trusted []ed25519.PublicKey) (*kit.Work, labs.Text) {
	w := &kit.Work{}
	if e.Kind == kit.Predict {
		answer, problem := readAnswer(e, s.Answer)
		if problem != (labs.Text{}) {
			return nil, problem
		}
		w.Answer = answer
	}
	if s.Record != nil && e.Kind != kit.Code {
		record, _, err := labs.ReadRecord(bytes.NewReader(s.Record), trusted...)
		var refused *labs.RecordError
		switch {
		case errors.As(err, &refused):
			return nil, labs.Text{En: "run.weir: " + refused.Reason.En, Zh: "run.weir:" + refused.Reason.Zh}
		case err != nil:
			return nil, labs.Text{En: "run.weir: " + err.Error(), Zh: "run.weir:" + err.Error()}
		}
		w.Record = record
	}
	return w, labs.Text{}
}

// readAnswer reads answer.json, and sees that each field is answered with something that it can be.
func readAnswer(e *kit.Exercise, data []byte) (map[string]any, labs.Text) {
	var answer map[string]any
	if err := json.Unmarshal(data, &answer); err != nil || answer == nil {
		return nil, noObject(data, err)
	}
	if e.Question == nil {
		return answer, labs.Text{}
	}
	for _, f := range e.Question.Fields {
		if p := fieldProblem(&f, answer[f.Name]); p != (labs.Text{}) {
			return nil, p
		}
	}
	return answer, labs.Text{}
}

// noObject says where answer.json stops being a JSON object.
func noObject(data []byte, err error) labs.Text {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return labs.Text{
			En: "answer.json is not a JSON object: it must begin with { and end with }, as labserver new writes it.",
			Zh: "answer.json 不是 JSON 对象：应以 { 开头、以 } 结尾，如 labserver new 写出的那样。",
		}
	}
	line := 1 + bytes.Count(data[:min(len(data), int(syntax.Offset))], []byte("\n"))
	return labs.Text{
		En: fmt.Sprintf("answer.json line %d is not JSON: %s.", line, syntax),
		Zh: fmt.Sprintf("answer.json 第 %d 行不是 JSON：%s。", line, syntax),
	}
}

// unanswered says that an answer.json is as labserver new writes it, or that fields of it still are.
func (s *Submission) unanswered(e *kit.Exercise) bool {
	var answer map[string]any
	if e.Kind != kit.Predict || e.Question == nil || json.Unmarshal(s.Answer, &answer) != nil {
		return false
	}
	for _, f := range e.Question.Fields {
		if v := answer[f.Name]; v == nil || v == "" {
			return true
		}
	}
	return false
}

func fieldProblem(f *kit.Field, v any) labs.Text {
	if v == nil || v == "" {
		return labs.Text{
			En: fmt.Sprintf("answer.json: %q has no answer yet (%s).", f.Name, f.Label.En),
			Zh: fmt.Sprintf("answer.json:%q 还没有回答（%s）。", f.Name, f.Label.Zh),
		}
	}
	if len(f.Choices) == 0 {
		if _, ok := v.(float64); ok {
			return labs.Text{}
		}
		return labs.Text{
			En: fmt.Sprintf("answer.json: %q is %v, expected a number%s.", f.Name, v, unit(" of ", f.Unit.En)),
			Zh: fmt.Sprintf("answer.json:%q 是 %v，应为数字%s。", f.Name, v, unit("，单位 ", f.Unit.Zh)),
		}
	}
	var values []string
	for _, c := range f.Choices {
		if v == c.Value {
			return labs.Text{}
		}
		values = append(values, c.Value)
	}
	return labs.Text{
		En: fmt.Sprintf("answer.json: %q is %v, expected one of %q.", f.Name, v, values),
		Zh: fmt.Sprintf("answer.json:%q 是 %v，应为 %q 之一。", f.Name, v, values),
	}
}

func unit(before, unit string) string {
	if unit == "" {
		return ""
	}
	return before + unit
}
