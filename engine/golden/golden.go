// Package golden replays golden files: what real Flink answered, as data, against the engine's own code. Each function
// takes the content of one sort of file and reports how many of its cases came out otherwise.
package golden

import (
	"encoding/json"
	"fmt"
)

// Report is the outcome of one file.
type Report struct {
	Cases int `json:"cases"`
	Wrong int `json:"wrong"`
	// FirstWrong says which case is the first wrong one, what was expected and what came; empty if none is.
	FirstWrong string `json:"firstWrong,omitempty"`
}

// check counts one case; a difference is an error.
func (r *Report) check(index int, raw json.RawMessage, err error) {
	r.Cases++
	if err == nil {
		return
	}
	r.Wrong++
	if r.FirstWrong == "" {
		const most = 200
		text := string(raw)
		if len(text) > most {
			text = text[:most] + "..."
		}
		r.FirstWrong = fmt.Sprintf("case %d: %v, in %s", index, err, text)
	}
}

// replay decodes the cases of a file and checks each. The header, all but the cases, goes to header if not nil.
func replay[C any](data []byte, header any, check func(*C) error) (Report, error) {
	var file struct {
		Cases []json.RawMessage `json:"cases"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return Report{}, fmt.Errorf("golden file: %w", err)
	}
	if len(file.Cases) == 0 {
		return Report{}, fmt.Errorf("golden file: it has no cases")
	}
	if header != nil {
		if err := json.Unmarshal(data, header); err != nil {
			return Report{}, fmt.Errorf("golden file: its header: %w", err)
		}
	}
	var report Report
	for i, raw := range file.Cases {
		var c C
		err := json.Unmarshal(raw, &c)
		if err == nil {
			err = guarded(check, &c)
		}
		report.check(i, raw, err)
	}
	return report, nil
}

// guarded makes a panic an error: a case in a damaged file may ask for what no job ever would.
func guarded[C any](check func(*C) error, c *C) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the engine panics: %v", p)
		}
	}()
	return check(c)
}

func differs(what string, got, want any) error {
	return fmt.Errorf("%s is %v, expected %v", what, got, want)
}
