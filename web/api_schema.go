package web

import (
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"
)

func schemaOf[T any](api huma.API) *huma.Schema {
	return api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}

// completeSchemas adds what huma leaves out of the descriptions of structs with others inside: fields whose Go names are
// also those of the outer struct, though their JSON names differ, and those of a struct that is not exported.
func completeSchemas(api huma.API) {
	schemas := api.OpenAPI().Components.Schemas.Map()
	for outer, inner := range map[string]string{"Subtask": "Rates", "ClassInfo": "ClassPublic"} {
		whole, part := schemas[outer], schemas[inner]
		if whole == nil || part == nil {
			continue // a server without classes has none of theirs
		}
		for name, field := range part.Properties {
			if whole.Properties[name] == nil {
				whole.Properties[name] = field
				whole.Required = append(whole.Required, name)
			}
		}
		slices.Sort(whole.Required)
	}
}

// fileOutput is a file to keep.
type fileOutput struct {
	ContentType  string `header:"Content-Type"`
	Disposition  string `header:"Content-Disposition"`
	CacheControl string `header:"Cache-Control"`
	Body         []byte
}

// binaryFile describes a file that is no text, anyJSON one that may have anything.
var binaryFile, anyJSON = &huma.Schema{Type: "string", Format: "binary"}, &huma.Schema{}

// fileResponse describes an answer that is a file as it is, which huma would take for bytes in base64.
func fileResponse(contentType string, schema *huma.Schema) map[string]*huma.Response {
	return map[string]*huma.Response{"200": {Description: "The file.", Content: map[string]*huma.MediaType{contentType: {Schema: schema}}}}
}

// aProblem describes what a refused call answers, for routes that huma does not serve itself.
func aProblem(api huma.API) *huma.Response {
	return &huma.Response{Description: "A problem.", Content: map[string]*huma.MediaType{"application/problem+json": {Schema: schemaOf[problem](api)}}}
}
