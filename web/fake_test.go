package web

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"weir/engine/metric"
	"weir/engine/trace"
	"weir/labs"
)

// fakeRun is a job of which a test says what it reads.
type fakeRun struct {
	tracer *trace.Tracer
	done   chan struct{}
	once   sync.Once
	looks  atomic.Int64

	mu      sync.Mutex
	state   string
	knobs   map[string]any
	changes []labs.KnobChange
	acted   []string
}

func newFakeRun() *fakeRun {
	return &fakeRun{tracer: trace.New(), done: make(chan struct{}), state: "RUNNING", knobs: map[string]any{"debloat": false}}
}

// Snapshot differs in its clock and in one queue with each look.
func (r *fakeRun) Snapshot() *metric.Snapshot {
	n := r.looks.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	end := func(vertex string) metric.End { return metric.End{Vertex: vertex} }
	return &metric.Snapshot{
		Lab: "backpressure", State: r.state, TimeMs: 100 * n, Knobs: maps.Clone(r.knobs),
		Vertices: []metric.Vertex{{ID: "source", Subtasks: []metric.Subtask{{Index: 0}}}, {ID: "slow-map", Subtasks: []metric.Subtask{{Index: 0}}}},
		Channels: []metric.Channel{{From: end("source"), To: end("slow-map"), Kind: "remote", SentBuffers: n,
			Producer: metric.ProducerEnd{Buffers: 2, Fill: []int{32768, int(n % 32768)}}}},
		Checkpoints: []metric.Checkpoint{{ID: 1, Status: "COMPLETED", TriggerMs: 50}},
	}
}

func (r *fakeRun) Set(knobs map[string]any) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, v := range knobs {
		if _, ok := r.knobs[name]; !ok {
			return 0, &labs.KnobError{Field: name, Value: v, Reason: "is not a knob of this lab"}
		}
		r.changes = append(r.changes, labs.KnobChange{AtMs: 1, Name: name, From: r.knobs[name], To: v})
		r.knobs[name] = v
	}
	return int64(len(r.changes)), nil
}

func (r *fakeRun) Action(name string, args map[string]any) (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch name {
	case "checkpoint":
		r.acted = append(r.acted, name)
		return map[string]any{"id": 7}, nil
	case "rescale":
		return nil, &labs.ActionError{Field: "parallelism", Reason: "is missing"}
	case "restart":
		return nil, labs.ErrRestarting
	}
	return nil, errors.New("this engine cannot do that")
}

func (r *fakeRun) Diagnosis() labs.Diagnosis { return labs.Diagnosis{} }
func (r *fakeRun) Evidence() []labs.EvidenceState {
	return []labs.EvidenceState{{ID: "source-pressed", State: labs.Shown}}
}
func (r *fakeRun) Events() []labs.KnobChange {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]labs.KnobChange(nil), r.changes...)
}
func (r *fakeRun) Tracer() *trace.Tracer { return r.tracer }
func (r *fakeRun) Done() <-chan struct{} { return r.done }
func (r *fakeRun) Err() error            { return nil }
func (r *fakeRun) Close()                { r.once.Do(func() { close(r.done); r.tracer.Close() }) }

// fakeServer serves fake runs; the last one started is at hand.
type fakeServer struct {
	*Server
	mu   sync.Mutex
	last *fakeRun
}

func (f *fakeServer) run() *fakeRun {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// newFake makes a server with fake runs; stop ends it, if the end of the test has not.
func newFake(t *testing.T, o Options) (f *fakeServer, stop func()) {
	t.Helper()
	if o.DataDir == "" {
		o.DataDir = t.TempDir()
	}
	ctx, cancel := context.WithCancel(context.Background())
	f = &fakeServer{}
	s, err := newServer(ctx, o.withDefaults(), func(labs.StartOptions) (run, error) {
		r := newFakeRun()
		f.mu.Lock()
		f.last = r
		f.mu.Unlock()
		return r, nil
	})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	f.Server = s
	stop = sync.OnceFunc(func() {
		cancel()
		if err := s.close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return f, stop
}

func newFakeServer(t *testing.T) *fakeServer {
	t.Helper()
	f, _ := newFake(t, Options{})
	return f
}

// start starts a session without going over HTTP.
func (f *fakeServer) start(t *testing.T) *session {
	t.Helper()
	sess, err := f.startSession(t.Context(), "backpressure", nil, "", "")
	if err != nil {
		t.Fatal(err)
	}
	return sess
}

// ask sends one request to the handler.
func (f *fakeServer) ask(r *http.Request) *httptest.ResponseRecorder {
	if r.Host == "example.com" {
		r.Host = "127.0.0.1:8090"
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w
}
