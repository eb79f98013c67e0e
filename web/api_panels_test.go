package web

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/engine/operator"
	"weir/labs"
)

// What a fake run has measured: one row, one hot group, and frames of two channels.
func (r *fakeRun) Comparisons() []labs.Comparison {
	return []labs.Comparison{{Knobs: map[string]any{"bufferTimeoutMs": 100}, Current: true, Seconds: 4, BuffersPerSecond: 50}}
}

func (r *fakeRun) KeyLoads() []labs.KeyLoad {
	return []labs.KeyLoad{{Vertex: "slow-map", MaxParallelism: 128, Hottest: 20, Skew: 1.6,
		Groups:   []labs.KeyGroupLoad{{GroupCount: operator.GroupCount{Group: 20, Records: 80, Bytes: 21_600}, Share: 0.8}},
		Subtasks: []labs.SubtaskLoad{{Groups: 1, Records: 80, Bytes: 21_600, Share: 0.8}}}}
}

func (r *fakeRun) Frames(n int) []labs.Frame {
	var list []labs.Frame
	for i := range 10 {
		f := labs.Frame{Number: int64(i + 1), Kind: "BufferResponse", FromProducer: true, Producer: "source 1", Consumer: "slow-map 1", SentMs: float64(i), ReceivedMs: -1}
		if i%5 == 4 {
			f.Producer, f.Consumer = "source 0", "slow-map 0"
		}
		list = append(list, f)
	}
	return list[max(0, len(list)-n):]
}

// get asks the handler and decodes its answer.
func get[T any](t *testing.T, f *fakeServer, path string) T {
	t.Helper()
	w := f.ask(httptest.NewRequest("GET", path, nil))
	if w.Code != 200 {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	var out T
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestComparisons(t *testing.T) {
	f := newFakeServer(t)
	out := get[struct {
		TimeMs      int64
		Comparisons []labs.Comparison
	}](t, f, "/api/v1/sessions/"+f.start(t).id+"/comparisons")
	if out.TimeMs <= 0 || len(out.Comparisons) != 1 || !out.Comparisons[0].Current || out.Comparisons[0].BuffersPerSecond != 50 || out.Comparisons[0].Knobs["bufferTimeoutMs"] != 100.0 {
		t.Errorf("%+v", out)
	}
}

func TestKeyLoads(t *testing.T) {
	f := newFakeServer(t)
	w := f.ask(httptest.NewRequest("GET", "/api/v1/sessions/"+f.start(t).id+"/keyloads", nil))
	for _, part := range []string{`"vertex":"slow-map"`, `"maxParallelism":128`, `"group":20,"subtask":0,"records":80,"bytes":21600,"share":0.8`, `"hottest":20`, `"skew":1.6`} {
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("%d %s has no %s", w.Code, w.Body, part)
		}
	}
}

// Frames are those of one channel, where one is named: the slow one would be lost among those of the fast one.
func TestFrames(t *testing.T) {
	f := newFakeServer(t)
	path := "/api/v1/sessions/" + f.start(t).id + "/frames"
	type answer struct {
		Channels []frameChannel
		Frames   []labs.Frame
	}
	channels := []frameChannel{{"source 0", "slow-map 0", 2, 5}, {"source 1", "slow-map 1", 8, 1}}
	for query, numbers := range map[string][]int64{
		"":                               {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		"?n=3":                           {8, 9, 10},
		"?consumer=slow-map%200":         {5, 10},
		"?consumer=slow-map%201&n=2":     {8, 9},
		"?consumer=nobody":               {},
		"?consumer=slow-map%200&n=1":     {10},
		"?consumer=slow-map%200&n=512":   {5, 10},
		"?consumer=slow-map%201&n=4&x=1": {6, 7, 8, 9},
	} {
		got := get[answer](t, f, path+query)
		if len(got.Channels) != 2 || got.Channels[0] != channels[0] || got.Channels[1] != channels[1] {
			t.Errorf("%s: channels %+v", query, got.Channels)
		}
		if len(got.Frames) != len(numbers) {
			t.Errorf("%s: %d frames, want %v", query, len(got.Frames), numbers)
			continue
		}
		for i, n := range numbers {
			if got.Frames[i].Number != n {
				t.Errorf("%s: frame %d is number %d, want %d", query, i, got.Frames[i].Number, n)
			}
		}
	}
	for _, query := range []string{"?n=0", "?n=513", "?n=all"} {
		if w := f.ask(httptest.NewRequest("GET", path+query, nil)); w.Code != 422 || !strings.Contains(w.Header().Get("Content-Type"), "problem+json") {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}

// A session that is no more answers 404, and a lab without the panel an empty list.
func TestPanelsWithout(t *testing.T) {
	f := newFakeServer(t)
	for _, name := range []string{"comparisons", "keyloads", "frames"} {
		if w := f.ask(httptest.NewRequest("GET", "/api/v1/sessions/nosuch/"+name, nil)); w.Code != 404 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	s, _ := liveServer(t)
	sess, err := s.startSession(t.Context(), "backpressure", nil, "", "")
	if err != nil {
		t.Fatal(err)
	}
	for name, list := range map[string]string{"comparisons": `"comparisons":[]`, "keyloads": `"keyLoads":[]`, "frames": `"channels":[],"frames":[]`} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "http://127.0.0.1:8090/api/v1/sessions/"+sess.id+"/"+name, nil)
		s.ServeHTTP(w, r)
		if w.Code != 200 || !strings.Contains(w.Body.String(), list) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// A lab page for a projector has the lesson's knobs only, and no text that only a pointer would show.
func TestPresentPage(t *testing.T) {
	s, _ := liveServer(t)
	page := func(path string) string {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1:8090"+path, nil))
		if w.Code != 200 {
			t.Fatalf("%s: %d", path, w.Code)
		}
		return w.Body.String()
	}
	if !s.assets.built() {
		t.Fatal("the pages are not built: run make pages first")
	}
	plain, present := page("/labs/unaligned?lang=en"), page("/labs/unaligned?lang=en&present")
	if strings.Contains(plain, "present-next") || !strings.Contains(plain, `id="knob-rate"`) {
		t.Error("the plain page is for a projector, or lacks a knob")
	}
	for _, part := range []string{`id="present-next"`, `id="knob-checkpointMode"`, `id="knob-alignedTimeoutMs"`, `id="knob-debloat"`, `class="lab unseen present"`} {
		if !strings.Contains(present, part) {
			t.Errorf("the projector's page has no %s", part)
		}
	}
	if strings.Contains(present, `id="knob-rate"`) {
		t.Error("the projector's page has knobs of which the lesson does not speak")
	}
	// Each lab's own panel is on its page, and its number that of the catalogue.
	for i, l := range labs.All() {
		p := page("/labs/" + l.ID + "?lang=en")
		for _, panel := range l.Panels {
			if !strings.Contains(p, `data-panel="`+panel+`"`) {
				t.Errorf("%s has no panel %s", l.ID, panel)
			}
		}
		if want := fmt.Sprintf("<span>Lab %d</span>", i+1); !strings.Contains(p, want) {
			t.Errorf("%s does not say %s", l.ID, want)
		}
	}
}
