package runner

import (
	"encoding/json"
	"time"
)

// handed is one result as a class takes it.
type handed struct {
	// ID is the same however often the result is sent, so that it is kept once.
	ID       string `json:"id"`
	Exercise string `json:"exercise"`
	ExerciseReport
	Engine string     `json:"engine"`
	Sent   time.Time  `json:"sent"`
	Work   handedWork `json:"work"`
}

// handedWork is the work itself. Bytes of a record are in base64.
type handedWork struct {
	Core   string          `json:"core,omitempty"`
	Answer json.RawMessage `json:"answer,omitempty"`
	Record []byte          `json:"record,omitempty"`
	Digest string          `json:"digest"`
}

// HandIn is the result of a check with its work, as a class takes it.
func HandIn(id, engine string, e *ExerciseReport, work *Submission, sent time.Time) ([]byte, error) {
	r := handed{ID: id, Exercise: e.ID, ExerciseReport: *e, Engine: engine, Sent: sent.UTC()}
	r.Work = handedWork{Core: string(work.Core), Record: work.Record, Digest: e.Work}
	if json.Valid(work.Answer) {
		r.Work.Answer = work.Answer
	}
	return json.Marshal(r)
}
