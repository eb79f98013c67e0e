package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"weir/labs"
)

type comparisonsOutput struct {
	Body struct {
		TimeMs      int64             `json:"timeMs" doc:"The job's own clock when they were read."`
		Comparisons []labs.Comparison `json:"comparisons" doc:"A row for each setting that was tried under the present load, in the order of first use."`
	}
}

type keyLoadsOutput struct {
	Body struct {
		TimeMs   int64          `json:"timeMs" doc:"The job's own clock when they were read."`
		KeyLoads []labs.KeyLoad `json:"keyLoads" doc:"Of each vertex where the lab counts them."`
	}
}

type framesInput struct {
	ID       string `path:"id"`
	Consumer string `query:"consumer" doc:"Only frames of the channels to this subtask, such as slow-map 0."`
	N        int    `query:"n" minimum:"1" maximum:"512" default:"64" doc:"At most so many, the newest."`
}

type framesOutput struct {
	Body struct {
		TimeMs   int64          `json:"timeMs" doc:"The job's own clock when they were read."`
		Channels []frameChannel `json:"channels" doc:"The channels whose frames are kept."`
		Frames   []labs.Frame   `json:"frames" doc:"In the order of sending."`
	}
}

type keyLayoutInput struct {
	ID      string `path:"id"`
	Key     string `query:"key" required:"true" doc:"As the generator would write it, such as 42."`
	State   string `query:"state" doc:"A state of the counting operator; its first without one."`
	UserKey string `query:"userKey" doc:"The key of an entry, as if the state were a map with texts for keys."`
}

type keyLayoutOutput struct {
	Body *labs.KeyLayout
}

// frameChannel is a channel whose frames are kept.
type frameChannel struct {
	Producer string `json:"producer"`
	Consumer string `json:"consumer"`
	Kept     int    `json:"kept" doc:"Frames kept of it; the oldest give way."`
	First    int64  `json:"first" doc:"The number of the oldest one."`
}

// framesKept bounds what is asked of a run: more than the rings of all its channels hold.
const framesKept = 1 << 16

// panelRoutes are the readings that single panels show beside the Snapshot. They are looked at about once a second, so they
// are asked for and not part of the stream.
func (s *Server) panelRoutes(api huma.API) {
	tags := []string{"sessions"}
	huma.Register(api, huma.Operation{
		OperationID: "get-comparisons", Method: http.MethodGet, Path: "/api/v1/sessions/{id}/comparisons", Tags: tags,
		Summary:     "What was measured under each setting of the knobs that its lab compares",
		Description: "Empty for a lab that compares nothing. Rates are means over the row's seconds, checkpoint figures medians of its completed checkpoints.",
		Extensions:  calledBy(callerPage, callerScript),
	}, func(ctx context.Context, in *idInput) (*comparisonsOutput, error) {
		sess, err := s.session(ctx, in.ID, toLook)
		if err != nil {
			return nil, err
		}
		out := &comparisonsOutput{}
		out.Body.TimeMs, out.Body.Comparisons = sess.run.Snapshot().TimeMs, sess.run.Comparisons()
		if out.Body.Comparisons == nil {
			out.Body.Comparisons = []labs.Comparison{}
		}
		return out, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "get-key-loads", Method: http.MethodGet, Path: "/api/v1/sessions/{id}/keyloads", Tags: tags,
		Summary:     "Records and bytes of each key group and subtask since the job's last start",
		Description: "Empty for a lab that does not count them.",
		Extensions:  calledBy(callerPage, callerScript),
	}, func(ctx context.Context, in *idInput) (*keyLoadsOutput, error) {
		sess, err := s.session(ctx, in.ID, toLook)
		if err != nil {
			return nil, err
		}
		out := &keyLoadsOutput{}
		out.Body.TimeMs, out.Body.KeyLoads = sess.run.Snapshot().TimeMs, sess.run.KeyLoads()
		if out.Body.KeyLoads == nil {
			out.Body.KeyLoads = []labs.KeyLoad{}
		}
		return out, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "get-frames", Method: http.MethodGet, Path: "/api/v1/sessions/{id}/frames", Tags: tags,
		Summary:     "The last frames between the task managers, decoded, with the books of both ends",
		Description: "Empty for a lab that keeps no frames. A frame that has not arrived yet has receivedMs -1.",
		Extensions:  calledBy(callerPage, callerScript),
	}, func(ctx context.Context, in *framesInput) (*framesOutput, error) {
		sess, err := s.session(ctx, in.ID, toLook)
		if err != nil {
			return nil, err
		}
		out := &framesOutput{}
		out.Body.TimeMs = sess.run.Snapshot().TimeMs
		out.Body.Channels, out.Body.Frames = framesOf(sess.run.Frames(framesKept), in.Consumer, in.N)
		return out, nil
	})
}

// keyLayoutRoute looks at the bytes of one key.
func (s *Server) keyLayoutRoute(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "get-composite-key", Method: http.MethodGet, Path: "/api/v1/sessions/{id}/compositekey", Tags: []string{"sessions"},
		Summary:    "The bytes under which the LSM store of the running job keeps a key in a state, taken apart",
		Extensions: calledBy(callerPage, callerScript),
	}, func(ctx context.Context, in *keyLayoutInput) (*keyLayoutOutput, error) {
		sess, err := s.session(ctx, in.ID, toLook)
		if err != nil {
			return nil, err
		}
		l, err := sess.run.LookAtKey(in.Key, in.State, in.UserKey)
		if err != nil {
			return nil, problemOf(err)
		}
		return &keyLayoutOutput{Body: l}, nil
	})
}

// framesOf lists the channels in the order of their names, and the newest n frames of those to the consumer, of all without
// one.
func framesOf(all []labs.Frame, consumer string, n int) ([]frameChannel, []labs.Frame) {
	channels, frames := []frameChannel{}, []labs.Frame{}
	for i := range all {
		f := &all[i]
		at, found := slices.BinarySearchFunc(channels, f, func(c frameChannel, f *labs.Frame) int {
			return cmp.Or(cmp.Compare(c.Consumer, f.Consumer), cmp.Compare(c.Producer, f.Producer))
		})
		if !found {
			channels = slices.Insert(channels, at, frameChannel{Producer: f.Producer, Consumer: f.Consumer, First: f.Number})
		}
		channels[at].Kept++
		if consumer == "" || f.Consumer == consumer {
			frames = append(frames, *f)
		}
	}
	return channels, frames[max(0, len(frames)-n):]
}
