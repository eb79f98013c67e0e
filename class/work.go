package class

import "encoding/json"

// Work is what was handed in with a result, as labserver check --submit sends it.
type Work struct {
	Core   string          `json:"core,omitempty"`
	Answer json.RawMessage `json:"answer,omitempty"`
	Record []byte          `json:"record,omitempty"`
	Digest string          `json:"digest,omitempty"`
}

// ParseWork reads the work of a result; what cannot be read is none.
func ParseWork(handed []byte) *Work {
	w := &Work{}
	if json.Unmarshal(handed, w) != nil {
		return &Work{}
	}
	return w
}
