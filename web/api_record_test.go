package web

import (
	"bytes"
	"crypto/ed25519"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"weir/engine/metric"
	"weir/labs"
)

func (r *fakeRun) Record() *labs.Record {
	return &labs.Record{Engine: "test", Lab: "backpressure", Knobs: map[string]any{"debloat": true}, Samples: []*metric.Snapshot{r.Snapshot()}}
}

func TestARecordIsSignedByItsServer(t *testing.T) {
	f := newFakeServer(t)
	sess := f.start(t)
	w := f.ask(httptest.NewRequest(http.MethodGet, "/api/v1/sessions/"+sess.id+"/record", nil))
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/gzip" || w.Header().Get("Content-Disposition") != `attachment; filename="run.weir"` {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	mine, _ := f.signKey.Public().(ed25519.PublicKey)
	r, origin, err := labs.ReadRecord(bytes.NewReader(w.Body.Bytes()), mine)
	if err != nil || origin != labs.OriginVerified || r.Knobs["debloat"] != true || len(r.Samples) != 1 {
		t.Errorf("%v %v %+v", origin, err, r)
	}
	if _, origin, err = labs.ReadRecord(bytes.NewReader(w.Body.Bytes())); err != nil || origin != labs.OriginReported {
		t.Errorf("by a reader that does not know the server: %v %v", origin, err)
	}
	if w := f.ask(httptest.NewRequest(http.MethodGet, "/api/v1/sessions/none/record", nil)); w.Code != http.StatusNotFound {
		t.Errorf("a session that there is not: %d", w.Code)
	}
	info, err := os.Stat(filepath.Join(filepath.Dir(f.dir), "record.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v %v", info, err)
	}
}
