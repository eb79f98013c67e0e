package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"weir/labs"
)

// problem is what a refused call answers: RFC 9457 with the field at fault and the reason.
type problem struct {
	Type   string `json:"type,omitempty" doc:"Always about:blank: status and field tell the kind of problem."`
	Title  string `json:"title" doc:"The status in words."`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty" doc:"One sentence: what is wrong, where, and what to do."`
	Field  string `json:"field,omitempty" doc:"The field, knob or header at fault."`
	Reason string `json:"reason,omitempty" doc:"What is wrong with it."`
	Place  int    `json:"place,omitempty" doc:"In the queue, from 1, where the server is full."`

	retryAfter int // seconds
}

var _ huma.StatusError = (*problem)(nil)

func (p *problem) Error() string { return p.Detail }

// GetStatus is the HTTP status.
func (p *problem) GetStatus() int { return p.Status }

// ContentType makes huma answer with the type of RFC 9457.
func (p *problem) ContentType(string) string { return "application/problem+json" }

// GetHeaders is what huma sends with it.
func (p *problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	return h
}

func newProblem(status int, field, reason string) *problem {
	detail := reason
	if field != "" {
		detail = field + ": " + reason
	}
	return &problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Field: field, Reason: reason}
}

// problemOf turns an error of the inner packages into what the caller may read: a knob error names its knob, a problem
// stays, everything else is the server's own fault.
func problemOf(err error) *problem {
	var p *problem
	var k *labs.KnobError
	var a *labs.ActionError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &a):
		return newProblem(http.StatusUnprocessableEntity, a.Field, a.Reason)
	case labs.NotNow(err):
		return newProblem(http.StatusConflict, "", err.Error())
	case errors.As(err, &k):
		p = newProblem(http.StatusUnprocessableEntity, k.Field, k.Reason)
		p.Detail = k.Error()
		return p
	}
	return newProblem(http.StatusInternalServerError, "", err.Error())
}

func (p *problem) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p)
}

// humaProblem shapes the errors that huma finds itself, such as a body that is not JSON.
func humaProblem(status int, msg string, errs ...error) huma.StatusError {
	for _, err := range errs {
		if errors.Is(err, errTooDeep) {
			return newProblem(http.StatusUnprocessableEntity, "body", errTooDeep.Error())
		}
		if d, ok := err.(huma.ErrorDetailer); ok {
			detail := d.ErrorDetail()
			field := strings.TrimPrefix(strings.TrimPrefix(detail.Location, "body."), "path.")
			return newProblem(status, field, detail.Message)
		}
		if err != nil {
			msg += ": " + err.Error()
		}
	}
	if status == http.StatusInternalServerError && strings.HasPrefix(msg, "cannot read request body") {
		status = http.StatusBadRequest // it broke off, which is no fault of this server
	}
	return newProblem(status, "", msg)
}
