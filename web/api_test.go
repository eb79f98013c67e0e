package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// call sends JSON and gives the status and the answer.
func (f *fakeServer) call(t *testing.T, method, path, body string) (*httptest.ResponseRecorder, map[string]any) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := f.ask(r)
	var out map[string]any
	if strings.HasPrefix(strings.TrimSpace(w.Body.String()), "{") {
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
			t.Fatalf("%s %s: %v in %s", method, path, err, w.Body)
		}
	}
	return w, out
}

func TestSessionLife(t *testing.T) {
	f := newFakeServer(t)
	w, out := f.call(t, "POST", "/api/v1/sessions", `{"lab":"backpressure","knobs":{}}`)
	id, _ := out["id"].(string)
	if w.Code != 201 || id == "" || w.Header().Get("Location") != "/api/v1/sessions/"+id {
		t.Fatalf("start: %d %v, location %q", w.Code, out, w.Header().Get("Location"))
	}
	base := "/api/v1/sessions/" + id
	if w, out := f.call(t, "GET", base, ""); w.Code != 200 || out["state"] != "RUNNING" || out["session"] != nil || out["$schema"] != nil {
		t.Errorf("snapshot: %d %v", w.Code, out)
	}
	if w, out := f.call(t, "GET", "/api/v1/sessions", ""); w.Code != 200 || len(out["sessions"].([]any)) != 1 || out["limit"] != 8.0 {
		t.Errorf("list: %d %v", w.Code, out)
	}
	if w, out := f.call(t, "PATCH", base+"/knobs", `{"debloat":true}`); w.Code != 200 || out["version"] != 1.0 {
		t.Errorf("change: %d %v", w.Code, out)
	}
	if w, out := f.call(t, "GET", base+"/evidence", ""); w.Code != 200 || len(out["evidence"].([]any)) != 1 || len(out["changes"].([]any)) != 1 {
		t.Errorf("evidence: %d %v", w.Code, out)
	}
	for _, body := range []string{"", "{}"} {
		if w, out := f.call(t, "POST", base+"/actions/checkpoint", body); w.Code != 200 || out["id"] != 7.0 {
			t.Errorf("checkpoint with body %q: %d %v", body, w.Code, out)
		}
	}
	dir := f.sessions.byID[id].dir
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
	if w, _ := f.call(t, "DELETE", base, ""); w.Code != 204 {
		t.Errorf("end: %d %s", w.Code, w.Body)
	}
	select {
	case <-f.run().done:
	default:
		t.Error("the job runs on after its session was ended")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the session's folder is left: %v", err)
	}
	if w, _ := f.call(t, "GET", base, ""); w.Code != 404 {
		t.Errorf("after its end: %d", w.Code)
	}
	if w, _ := f.call(t, "DELETE", base, ""); w.Code != 404 {
		t.Errorf("ended twice: %d", w.Code)
	}
}

func TestRefusals(t *testing.T) {
	f := newFakeServer(t)
	id := f.start(t).id
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		field, reason            string
	}{
		{"unknown lab", "POST", "/api/v1/sessions", `{"lab":"backpresure"}`, 422, "lab", "did you mean backpressure"},
		{"no lab", "POST", "/api/v1/sessions", `{}`, 422, "", "lab"},
		{"unknown input", "POST", "/api/v1/sessions", `{"lab":"key-groups","input":"nope","key":"dest"}`, 422, "input", "no such input"},
		{"input without a key", "POST", "/api/v1/sessions", `{"lab":"key-groups","input":"flights"}`, 422, "key", "dest"},
		{"unknown column", "POST", "/api/v1/sessions", `{"lab":"key-groups","input":"flights","key":"nope"}`, 422, "key", "nope"},
		{"key without input", "POST", "/api/v1/sessions", `{"lab":"key-groups","key":"dest"}`, 422, "key", "needs an input"},
		{"not JSON", "POST", "/api/v1/sessions", `{`, 400, "", ""},
		{"unknown knob", "PATCH", "/api/v1/sessions/" + id + "/knobs", `{"debloot":true}`, 422, "debloot", "not a knob"},
		{"unknown session", "PATCH", "/api/v1/sessions/none/knobs", `{"debloat":true}`, 404, "id", "no such session"},
		{"unknown action", "POST", "/api/v1/sessions/" + id + "/actions/explode", `{}`, 422, "action", ""},
		{"an action that lacks an argument", "POST", "/api/v1/sessions/" + id + "/actions/rescale", `{}`, 422, "parallelism", "missing"},
		{"an action at the wrong time", "POST", "/api/v1/sessions/" + id + "/actions/restart", `{}`, 409, "", "restarting"},
		{"an action that this engine lacks", "POST", "/api/v1/sessions/" + id + "/actions/savepoint", `{}`, 409, "savepoint", "cannot"},
		{"unknown address", "GET", "/api/v1/nope", ``, 404, "", "no such address"},
		{"wrong method", "PUT", "/api/v1/sessions", `{}`, 405, "", "PUT"},
		{"bad rate of a stream", "GET", "/api/v1/sessions/" + id + "/stream?hz=31", ``, 422, "hz", "1 to 30"},
		{"stream of no session", "GET", "/api/v1/sessions/none/stream", ``, 404, "id", "no such session"},
		{"trace of no session", "GET", "/api/v1/sessions/none/trace", ``, 404, "id", "no such session"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, _ := f.call(t, c.method, c.path, c.body)
			if w.Code != c.status {
				t.Fatalf("status %d, want %d: %s", w.Code, c.status, w.Body)
			}
			p := problemIn(t, w)
			if c.field != "" && p.Field != c.field {
				t.Errorf("field %q, want %q: %+v", p.Field, c.field, p)
			}
			if !strings.Contains(p.Detail, c.reason) {
				t.Errorf("detail %q does not say %q", p.Detail, c.reason)
			}
		})
	}
}

func TestSessionLimit(t *testing.T) {
	f := newFakeServer(t)
	var first string
	for i := range maxRunning {
		w, out := f.call(t, "POST", "/api/v1/sessions", `{"lab":"backpressure"}`)
		if w.Code != 201 {
			t.Fatalf("session %d: %d %s", i, w.Code, w.Body)
		}
		if i == 0 {
			first = out["id"].(string)
		}
	}
	w, _ := f.call(t, "POST", "/api/v1/sessions", `{"lab":"backpressure"}`)
	if p := problemIn(t, w); p.Status != 429 || !strings.Contains(p.Detail, "8 are allowed") {
		t.Errorf("one more: %+v", p)
	}
	f.call(t, "DELETE", "/api/v1/sessions/"+first, "")
	if w, _ := f.call(t, "POST", "/api/v1/sessions", `{"lab":"backpressure"}`); w.Code != 201 {
		t.Errorf("after one was ended: %d %s", w.Code, w.Body)
	}
	// A job that ended by itself takes no place, and only the newest of them are kept.
	for range maxEnded + 3 {
		f.run().Close()
		if w, _ := f.call(t, "POST", "/api/v1/sessions", `{"lab":"backpressure"}`); w.Code != 201 {
			t.Fatalf("after one finished: %d %s", w.Code, w.Body)
		}
	}
	if n := len(f.sessions.list()); n > maxRunning+maxEnded {
		t.Errorf("%d sessions are kept", n)
	}
}

func TestOpenAPI(t *testing.T) {
	f := newFakeServer(t)
	w, doc := f.call(t, "GET", "/api/openapi.json", "")
	if w.Code != 200 {
		t.Fatal(w.Code)
	}
	paths := doc["paths"].(map[string]any)
	for _, want := range []string{"/api/v1/labs", "/api/v1/sessions", "/api/v1/sessions/{id}", "/api/v1/sessions/{id}/knobs", "/api/v1/sessions/{id}/actions/{action}",
		"/api/v1/sessions/{id}/stream", "/api/v1/sessions/{id}/trace", "/api/v1/inputs", "/api/v1/keygroups"} {
		if paths[want] == nil {
			t.Errorf("%s is not described", want)
		}
	}
	for path, item := range paths {
		for method, op := range item.(map[string]any) {
			callers, _ := op.(map[string]any)["x-caller"].([]any)
			if len(callers) == 0 {
				t.Errorf("%s %s declares no caller", method, path)
			}
		}
	}
}

func TestLabsList(t *testing.T) {
	f := newFakeServer(t)
	w, _ := f.call(t, "GET", "/api/v1/labs", "")
	var list []struct {
		ID    string
		Title string
		Knobs []struct{ Name, TakesEffect, FlinkOption string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	for _, l := range list {
		if l.ID != "backpressure" {
			continue
		}
		for _, k := range l.Knobs {
			if k.Name == "debloat" {
				if k.TakesEffect != "now" || k.FlinkOption != "taskmanager.network.memory.buffer-debloat.enabled" {
					t.Errorf("%+v", k)
				}
				return
			}
		}
	}
	t.Errorf("no knob debloat of a lab backpressure in %s", w.Body)
}

func TestPlaceKeys(t *testing.T) {
	f := newFakeServer(t)
	w, out := f.call(t, "POST", "/api/v1/keygroups", `{"type":"long","maxParallelism":128,"parallelism":2,"compare":3,"keys":["0","1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","x"]}`)
	if w.Code != 200 {
		t.Fatal(w.Body)
	}
	want := []int{94, 86, 127, 113, 7, 126, 18, 113, 15, 51, 67, 102, 50, 1, 27, 70}
	keys := out["keys"].([]any)
	for i, g := range want {
		if got := keys[i].(map[string]any)["keyGroup"]; got != float64(g) {
			t.Errorf("key %d is in group %v, want %d", i, got, g)
		}
	}
	if len(keys) != 16 || len(out["rejected"].([]any)) != 1 {
		t.Errorf("%d keys placed, %v rejected", len(keys), out["rejected"])
	}
	if out["moved"] != 63.0 {
		t.Errorf("%v groups move from 2 to 3 subtasks, want 63", out["moved"])
	}
	if got := fmt.Sprint(out["after"].(map[string]any)["ranges"]); got != "[[0 42] [43 85] [86 127]]" {
		t.Errorf("ranges of 3 subtasks: %s", got)
	}
	w, _ = f.call(t, "POST", "/api/v1/keygroups", `{"parallelism":200,"maxParallelism":128}`)
	if p := problemIn(t, w); p.Status != 422 || p.Field != "parallelism" {
		t.Errorf("%+v", p)
	}
}

func (f *fakeServer) upload(t *testing.T, name, content string) *httptest.ResponseRecorder {
	t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, err := form.CreateFormFile("file", name)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write([]byte(content))
	_ = form.Close()
	r := httptest.NewRequest(http.MethodPost, "/api/v1/inputs", &b)
	r.Header.Set("Content-Type", form.FormDataContentType())
	return f.ask(r)
}

func TestUpload(t *testing.T) {
	f := newFakeServer(t)
	w := f.upload(t, "../../my flights.csv", "origin,dest\nEWR,IAH\nJFK,MIA\n")
	var in inputInfo
	if err := json.Unmarshal(w.Body.Bytes(), &in); err != nil || w.Code != 201 {
		t.Fatalf("%d %v %s", w.Code, err, w.Body)
	}
	if in.ID == "" || in.Format != "csv" || fmt.Sprint(in.Columns) != "[origin dest]" || in.Rows != 2 || len(in.Sample) != 2 {
		t.Errorf("%+v", in)
	}
	w2, _ := f.call(t, "POST", "/api/v1/sessions", `{"lab":"key-groups","input":"`+in.ID+`","key":"dest"}`)
	if w2.Code != 201 {
		t.Errorf("a session over it: %d %s", w2.Code, w2.Body)
	}
	for _, c := range []struct {
		name, content string
		status        int
		says          string
	}{
		{"ragged.csv", "a,b\n1,2\n3\n", 422, "ragged.csv"},
		{"empty.csv", "", 422, "empty.csv"},
		{"large.csv", "a\n" + strings.Repeat("x\n", maxInputBytes/2+1), 413, "32 MiB"},
	} {
		p := problemIn(t, f.upload(t, c.name, c.content))
		if p.Status != c.status || p.Field != "file" || !strings.Contains(p.Detail, c.says) {
			t.Errorf("%s: %+v", c.name, p)
		}
		if strings.Contains(p.Detail, f.dir) {
			t.Errorf("%s: %q tells where the server keeps files", c.name, p.Detail)
		}
	}
	w, _ = f.call(t, "POST", "/api/v1/inputs", `{}`)
	if p := problemIn(t, w); p.Status != 415 {
		t.Errorf("no form: %+v", p)
	}
	// Only so many are kept, and of the others nothing is left.
	for range maxInputs {
		f.upload(t, "more.csv", "a\n1\n")
	}
	if w, _ := f.call(t, "POST", "/api/v1/sessions", `{"lab":"key-groups","input":"`+in.ID+`","key":"dest"}`); w.Code != 422 {
		t.Errorf("the oldest is still there: %d", w.Code)
	}
	left, err := os.ReadDir(f.inputs.dir)
	if err != nil || len(left) != maxInputs {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

func TestMetricsAndHealth(t *testing.T) {
	f := newFakeServer(t)
	f.start(t)
	w := f.ask(httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != 200 || !strings.Contains(w.Body.String(), "flink_jobmanager_numRunningJobs") || !strings.Contains(w.Body.String(), "flink_taskmanager_job_task_") {
		t.Errorf("%d %.300s", w.Code, w.Body)
	}
	if w, out := f.call(t, "GET", "/healthz", ""); w.Code != 200 || out["status"] != "ok" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
