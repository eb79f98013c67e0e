package web

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"weir/labs"
)

type labsOutput struct {
	Body []labs.LabInfo
}

func (s *Server) labRoutes(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "list-labs", Method: http.MethodGet, Path: "/api/v1/labs", Tags: []string{"labs"},
		Summary: "The labs with their knobs", Extensions: calledBy(callerScript),
	}, func(context.Context, *struct{}) (*labsOutput, error) {
		return &labsOutput{Body: labs.List()}, nil
	})
}
