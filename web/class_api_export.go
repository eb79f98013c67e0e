package web

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"

	"weir/class"
	"weir/exercises"
	"weir/exercises/kit"
)

// starterDigests are of code that everybody begins with: that it is equal tells nothing.
var starterDigests = sync.OnceValue(func() []string {
	var all []string
	for _, e := range exercises.All() {
		if e.Kind != kit.Code {
			continue
		}
		if b, err := kit.Starter(e); err == nil {
			all = append(all, class.SourceDigest(b))
		}
	}
	return all
})

// exportRoute gives the grade book.
func (s *Server) exportRoute(r chi.Router, api huma.API) {
	r.Get("/api/v1/class/export", s.exportClass)
	api.OpenAPI().AddOperation(&huma.Operation{
		OperationID: "export-class", Method: http.MethodGet, Path: "/api/v1/class/export", Tags: []string{"class"},
		Summary:    "The grade book, each result verified or reported; json has all results with their work",
		Parameters: []*huma.Param{{Name: "format", In: "query", Schema: &huma.Schema{Type: "string", Enum: []any{"csv", "json", "gradescope"}, Default: "json"}}},
		Responses: map[string]*huma.Response{
			"200":     {Description: "The file.", Content: map[string]*huma.MediaType{"application/json": {}, "text/csv": {}}},
			"default": aProblem(api),
		},
		Extensions: calledBy(callerWall, callerScript),
	})
}

func (s *Server) exportClass(w http.ResponseWriter, r *http.Request) {
	format := r.URL.Query().Get("format")
	if format == "" {
		format = "json"
	}
	kinds := map[string]string{"csv": "text/csv; charset=utf-8", "json": "application/json", "gradescope": "application/json"}
	kind, ok := kinds[format]
	if !ok {
		newProblem(http.StatusUnprocessableEntity, "format", fmt.Sprintf("%q is none of csv, json, gradescope", format)).write(w)
		return
	}
	ctx, who := r.Context(), callerOf(r.Context())
	records, err := s.course.store.Records(ctx, who.Class)
	if err != nil {
		problemOf(storeProblem(err)).write(w)
		return
	}
	var columns []class.Exercise
	for _, e := range exercises.All() {
		columns = append(columns, class.Exercise{ID: e.ID, MaxPoints: e.MaxPoints()})
	}
	book := class.NewGradeBook(records, columns, starterDigests()...)
	s.course.audit(ctx, who, "export", format)
	ending := map[string]string{"csv": ".csv", "json": ".json", "gradescope": "-gradescope.json"}[format]
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", `attachment; filename="weir-class-`+strings.ToLower(records.Class.ID[:min(6, len(records.Class.ID))])+ending+`"`)
	h.Set("Cache-Control", "no-store")
	out := bufio.NewWriter(w)
	switch format {
	case "csv":
		err = book.CSV(out)
	case "gradescope":
		err = book.Gradescope(out)
	default:
		err = class.NewExport(book, records, time.Now()).JSON(out, func(result string) ([]byte, error) { return s.course.store.Work(ctx, result) })
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		s.log.Warn("export broke off", "class", who.Class, "error", err)
		panic(http.ErrAbortHandler) // the file is not whole: the browser must not take it for one
	}
}
