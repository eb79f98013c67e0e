package web

import (
	"net/http/httptest"
	"strings"
	"testing"

	"weir/labs"
)

// LookAtKey knows the key 7.
func (r *fakeRun) LookAtKey(key, state, userKey string) (*labs.KeyLayout, error) {
	if key != "7" {
		return nil, &labs.ActionError{Field: "key", Reason: key + " is not a whole number"}
	}
	return &labs.KeyLayout{KeyPlace: labs.KeyPlace{Key: key, KeyGroup: 113}, State: state, Parts: []labs.KeyPart{{Name: "keyGroup", Hex: "71", Bytes: 1, Meaning: userKey}}}, nil
}

func TestCompositeKey(t *testing.T) {
	f := newFakeServer(t)
	path := "/api/v1/sessions/" + f.start(t).id + "/compositekey?"
	if l := get[labs.KeyLayout](t, f, path+"key=7&state=count&userKey=a"); l.KeyGroup != 113 || l.State != "count" || len(l.Parts) != 1 || l.Parts[0].Meaning != "a" {
		t.Errorf("%+v", l)
	}
	for query, says := range map[string]string{"key=seven": "seven is not", "state=count": "key"} {
		w := f.ask(httptest.NewRequest("GET", path+query, nil))
		if w.Code != 422 || !strings.Contains(w.Body.String(), says) {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}
