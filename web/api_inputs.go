package web

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"weir/labs"
)

// inputInfo describes a stored file.
type inputInfo struct {
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	Format  string     `json:"format" doc:"csv or ndjson"`
	Columns []string   `json:"columns"`
	Rows    int64      `json:"rows"`
	Sample  [][]string `json:"sample" doc:"The first rows."`
}

// mostParts are the parts of a form that are looked through for its file: a form can have hundreds of thousands.
const mostParts = 16

// upload stores the file of a multipart form while it arrives; nothing of it is held in memory.
func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxInputBytes+1<<16) // the form's own lines come on top
	form, err := r.MultipartReader()
	if err != nil {
		newProblem(http.StatusUnsupportedMediaType, "Content-Type", "send the file as multipart/form-data").write(w)
		return
	}
	for parts := 0; ; parts++ {
		if parts == mostParts {
			newProblem(http.StatusRequestEntityTooLarge, "file", "the form has more parts than a file needs").write(w)
			return
		}
		part, err := form.NextPart()
		var tooLarge *http.MaxBytesError
		switch {
		case errors.Is(err, io.EOF):
			newProblem(http.StatusUnprocessableEntity, "file", "the form has no file").write(w)
			return
		case errors.As(err, &tooLarge):
			newProblem(http.StatusRequestEntityTooLarge, "file", "larger than the 32 MiB that are allowed").write(w)
			return
		case err != nil:
			newProblem(http.StatusBadRequest, "file", "the form is not complete: "+err.Error()).write(w)
			return
		}
		if part.FormName() != "file" {
			continue
		}
		name := part.FileName()
		id, input, err := s.inputs.take(name, part, callerOf(r.Context()))
		if err != nil {
			problemOf(err).write(w)
			return
		}
		s.log.Info("input stored", "input", id, "name", safeName(name))
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Location", "/api/v1/inputs/"+id)
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(describeInput(id, safeName(name), input))
		return
	}
}

// describeInput says what a stored file holds.
func describeInput(id, name string, in *labs.Input) inputInfo {
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
