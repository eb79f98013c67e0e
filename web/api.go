package web

import (
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"
)

// apiVersion is the version of the API in its description; addresses carry its first number.
const apiVersion = "1.0.0"

func init() {
	// huma builds its own errors through this one function of its package.
	huma.NewError = humaProblem
	huma.NewErrorWithContext = func(_ huma.Context, status int, msg string, errs ...error) huma.StatusError {
		return humaProblem(status, msg, errs...)
	}
}

// Who calls a route. Each operation declares its callers under x-caller; a route that nobody calls is to be removed.
const (
	callerPage     = "lab page"
	callerHome     = "catalogue page"
	callerScript   = "scripts"
	callerExplorer = "key-groups panel"
)

// calledBy is the extension that names the callers.
func calledBy(callers ...string) map[string]any { return map[string]any{"x-caller": callers} }

// routeAPI adds /api/v1 with its description at /api/openapi.json.
func (s *Server) routeAPI(r chi.Router) {
	c := huma.DefaultConfig("Weir", apiVersion)
	c.OpenAPIPath = "/api/openapi"
	c.DocsPath = "" // the page that comes with huma loads its viewer from another host
	c.SchemasPath = ""
	c.CreateHooks = nil // no $schema field in answers: they are the shapes of the contract
	c.Info.Description = "Starts, watches and changes the jobs of the labs. Every reading is of the running engine. " +
		"A refused call answers application/problem+json with the field and the reason."
	api := humachi.New(r, c)
	s.labRoutes(api)
	s.sessionRoutes(api)
	s.recordRoutes(api)
	s.panelRoutes(api)
	s.heapRoutes(api)
	s.keyLayoutRoute(api)
	s.keyGroupRoutes(api)
	s.exerciseRoutes(r, api)
	if s.course != nil {
		s.classRoutes(r, api)
	}
	if s.joined != nil {
		s.joinedRoutes(r)
	}
	s.plainRoutes(r, api)
	completeSchemas(api)
}

// writeJSON answers where huma does not.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// plainRoutes are those that huma does not serve itself: websockets and the upload, which is stored while it arrives.
func (s *Server) plainRoutes(r chi.Router, api huma.API) {
	id := []*huma.Param{{Name: "id", In: "path", Required: true, Schema: &huma.Schema{Type: "string"}}}
	switching := map[string]*huma.Response{
		"101":     {Description: "The websocket."},
		"default": {Description: "A problem.", Content: map[string]*huma.MediaType{"application/problem+json": {}}},
	}
	oapi := api.OpenAPI()

	r.Get("/api/v1/sessions/{id}/stream", s.stream)
	one, thirty := 1.0, 30.0
	oapi.AddOperation(&huma.Operation{
		OperationID: "stream-session", Method: http.MethodGet, Path: "/api/v1/sessions/{id}/stream", Tags: []string{"sessions"},
		Summary: "The live Snapshot, a websocket",
		Description: "Text messages. The first is the whole Snapshot, with session, evidence and changes beside its fields; each further one is what changed, " +
			"to be merged: objects merge field by field, null takes a field away, an array of unchanged length comes as an object keyed by index, " +
			"an array of numbers or texts comes whole. A slow reader gets the newest, never a backlog; skipped then counts the pictures it missed.",
		Parameters: append(id, &huma.Param{Name: "hz", In: "query", Description: "Pictures a second.",
			Schema: &huma.Schema{Type: "integer", Minimum: &one, Maximum: &thirty, Default: defaultHz}}),
		Responses: switching, Extensions: calledBy(callerPage, callerScript),
	})

	r.Get("/api/v1/sessions/{id}/trace", s.trace)
	oapi.AddOperation(&huma.Operation{
		OperationID: "trace-session", Method: http.MethodGet, Path: "/api/v1/sessions/{id}/trace", Tags: []string{"sessions"},
		Summary: "Trace events and breakpoints, a websocket",
		Description: `Send {"watch":[names]} to record points, {"arm":name,"when":"channel == 1"} and {"disarm":name} for breakpoints, ` +
			`{"step":id}, {"resume":id} and {"resumeAll":true} for stopped threads. Receive {events, counts, stopped, armed} or {error}. ` +
			"Whatever a viewer stopped goes on when it leaves.",
		Parameters: id, Responses: switching, Extensions: calledBy(callerPage, callerScript),
	})

	r.Post("/api/v1/inputs", s.upload)
	oapi.AddOperation(&huma.Operation{
		OperationID: "upload-input", Method: http.MethodPost, Path: "/api/v1/inputs", Tags: []string{"inputs"},
		Summary:     "Takes a CSV or NDJSON file, plain or gzip, 32 MiB at most",
		Description: "The file is kept until the server stops, or until sixteen newer ones have come. Its id is the input of a new session.",
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"multipart/form-data": {Schema: &huma.Schema{
			Type: "object", Required: []string{"file"}, Properties: map[string]*huma.Schema{"file": {Type: "string", Format: "binary"}}}}}},
		Responses: map[string]*huma.Response{
			"201":     {Description: "Stored.", Content: map[string]*huma.MediaType{"application/json": {Schema: schemaOf[inputInfo](api)}}},
			"default": aProblem(api),
		},
		Extensions: calledBy(callerPage, callerExplorer, callerScript),
	})
}
