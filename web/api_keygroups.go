package web

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"weir/engine/keygroup"
	"weir/labs"
)

type placeInput struct {
	Body struct {
		Type           string   `json:"type,omitempty" default:"long" doc:"long, int, string, bool or double."`
		MaxParallelism int      `json:"maxParallelism,omitempty" doc:"0 is derived from the parallelism."`
		Parallelism    int      `json:"parallelism" minimum:"1"`
		Compare        int      `json:"compare,omitempty" doc:"Another parallelism, to see what moves."`
		Keys           []string `json:"keys,omitempty" maxItems:"1000"`
	}
}

// placement is how one parallelism shares the groups out.
type placement struct {
	Parallelism int      `json:"parallelism"`
	Ranges      [][2]int `json:"ranges" doc:"First and last group of each subtask, both inclusive."`
}

type placeOutput struct {
	Body struct {
		MaxParallelism int             `json:"maxParallelism"`
		Keys           []labs.KeyPlace `json:"keys"`
		Rejected       []rejectedKey   `json:"rejected" doc:"Texts that are no keys of this type."`
		Before         placement       `json:"before"`
		After          *placement      `json:"after,omitempty"`
		Moved          int             `json:"moved" doc:"Groups whose owner differs between the two."`
	}
}

type rejectedKey struct {
	Key    string `json:"key"`
	Reason string `json:"reason"`
}

func (s *Server) keyGroupRoutes(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "place-keys", Method: http.MethodPost, Path: "/api/v1/keygroups", Tags: []string{"labs"},
		Summary:    "Places keys: hash, key group and owning subtask, by the engine's own code",
		Extensions: calledBy(callerExplorer, callerScript),
	}, func(_ context.Context, in *placeInput) (*placeOutput, error) {
		b := &in.Body
		t, err := labs.ParseKeyType(b.Type)
		if err != nil {
			return nil, newProblem(http.StatusUnprocessableEntity, "type", err.Error())
		}
		maxParallelism := b.MaxParallelism
		if maxParallelism == 0 {
			maxParallelism = keygroup.DefaultMaxParallelism(b.Parallelism)
		}
		out := &placeOutput{}
		out.Body.MaxParallelism = maxParallelism
		if out.Body.Before, err = placementOf("parallelism", maxParallelism, b.Parallelism); err != nil {
			return nil, err
		}
		if b.Compare > 0 {
			after, err := placementOf("compare", maxParallelism, b.Compare)
			if err != nil {
				return nil, err
			}
			out.Body.After = &after
			for g := range maxParallelism {
				if keygroup.OperatorIndex(maxParallelism, b.Parallelism, g) != keygroup.OperatorIndex(maxParallelism, b.Compare, g) {
					out.Body.Moved++
				}
			}
		}
		out.Body.Keys, out.Body.Rejected = []labs.KeyPlace{}, []rejectedKey{}
		for _, text := range b.Keys {
			p, err := labs.PlaceKey(t, text, maxParallelism, b.Parallelism)
			if err != nil {
				out.Body.Rejected = append(out.Body.Rejected, rejectedKey{Key: text, Reason: err.Error()})
				continue
			}
			out.Body.Keys = append(out.Body.Keys, p)
		}
		return out, nil
	})
}

func placementOf(field string, maxParallelism, parallelism int) (placement, error) {
	p := placement{Parallelism: parallelism, Ranges: make([][2]int, 0, max(0, min(parallelism, maxParallelism)))}
	if maxParallelism < 1 || maxParallelism > 1<<15 {
		return p, newProblem(http.StatusUnprocessableEntity, "maxParallelism", fmt.Sprintf("%d is not from 1 to 32768", maxParallelism))
	}
	if parallelism < 1 || parallelism > maxParallelism {
		return p, newProblem(http.StatusUnprocessableEntity, field,
			fmt.Sprintf("%d is not from 1 to the max parallelism of %d", parallelism, maxParallelism))
	}
	for i := range parallelism {
		r, err := keygroup.RangeFor(maxParallelism, parallelism, i)
		if err != nil {
			return p, newProblem(http.StatusUnprocessableEntity, field, err.Error())
		}
		p.Ranges = append(p.Ranges, [2]int{int(r.First), int(r.Last)})
	}
	return p, nil
}
