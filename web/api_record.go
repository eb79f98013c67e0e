package web

import (
	"bytes"
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// recordRoutes give the record of a session: what it did, for the exercises.
func (s *Server) recordRoutes(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "get-record", Method: http.MethodGet, Path: "/api/v1/sessions/{id}/record", Tags: []string{"sessions"},
		Summary: "What it did, as a run.weir file",
		Description: "Its knobs, their changes, what was asked of it, and a sample a second, of the last ten minutes: what a live exercise is judged from. " +
			"gzip around JSON, with a digest and this server's signature.",
		Responses:  fileResponse("application/gzip", binaryFile),
		Extensions: calledBy(callerPage, callerScript),
	}, func(ctx context.Context, in *idInput) (*fileOutput, error) {
		sess, err := s.session(ctx, in.ID, toLook)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if err := sess.run.Record().Write(&b, s.signKey); err != nil {
			return nil, problemOf(err)
		}
		return &fileOutput{"application/gzip", `attachment; filename="run.weir"`, "no-store", b.Bytes()}, nil
	})
}
