package web

import (
	"net/http"
	"strings"

	"weir/labs"
)

// describe says what a stored file holds.
func describe(id, name string, in *labs.Input) inputInfo {
	return inputInfo{ID: id, Name: name, Format: string(in.Format), Columns: in.Columns, Rows: in.Rows, Sample: in.Sample}
}

// keyed gives an input that is keyed by a column of it.
func keyed(in *labs.Input, key string) (*labs.Input, error) {
	if key == "" {
		return nil, newProblem(http.StatusUnprocessableEntity, "key", "say which column to key by: "+strings.Join(in.Columns, ", "))
	}
	k, err := in.WithKey(key)
	if err != nil {
		return nil, newProblem(http.StatusUnprocessableEntity, "key", err.Error())
	}
	return k, nil
}
