package labs

import (
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/engine/metric"
)

// recorded runs the flagship in fake time with all that a record keeps.
func recorded(t *testing.T) *Record {
	t.Helper()
	var rec *Record
	synctest.Test(t, func(t *testing.T) {
		s := Script{Lab: "backpressure", Knobs: map[string]any{"transport": "memory", "checkpointStorage": "memory", "workMs": "0.5"}, ForMs: 21_500, Steps: []Step{
			{AtMs: 3000, Set: map[string]any{"debloat": true, "debloatTargetMs": 500}},
			{AtMs: 7300, Action: "checkpoint"},
			{AtMs: 12_000, Set: map[string]any{"parallelism": 3}},
			{AtMs: 16_000, Set: map[string]any{"maxParallelism": 256}},
		}}
		var err error
		if rec, err = s.Play(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	return rec
}

func file(t *testing.T, r *Record, key ed25519.PrivateKey) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b, key); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// unpacked is the JSON of a record's file.
func unpacked(t *testing.T, b []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if b, err = io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	return b
}

func packed(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestARunKeepsItsRecord(t *testing.T) {
	written := recorded(t)
	r, origin, err := ReadRecord(bytes.NewReader(file(t, written, nil)))
	if err != nil || origin != OriginReported {
		t.Fatal(origin, err)
	}
	if r.Lab != "backpressure" || !strings.HasPrefix(r.Engine, "weir ") || r.Knobs["workMs"] != 0.5 || r.Knobs["parallelism"] != int64(2) || r.Restored || r.Forgotten != 0 {
		t.Errorf("head %+v", r)
	}
	var names []string
	for _, c := range r.Changes {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, " "); got != "debloat debloatTargetMs parallelism maxParallelism" {
		t.Errorf("changes %s", got)
	}
	if c := r.Changes[2]; c.From != int64(2) || c.To != int64(3) || c.AtMs < 12_000 || c.AtMs > 14_000 {
		t.Errorf("change %+v", c)
	}
	var kinds []string
	for _, m := range r.Marks {
		kinds = append(kinds, m.Kind)
	}
	if got := strings.Join(kinds, " "); got != "action restart anew" {
		t.Errorf("marks %s", got)
	}
	if n := len(r.Samples); n < 19 || n > 23 {
		t.Errorf("%d samples of 21 s", n)
	}
	for i, s := range r.Samples[1:] {
		if d := s.TimeMs - r.Samples[i].TimeMs; d < 900 || d > 2000 {
			t.Errorf("sample %d comes %d ms after the one before", i+1, d)
		}
	}
	if s := r.Samples[10]; s.Vertices[0].Subtasks[0].Recent.BackPressured < 900 || len(s.Channels) != 4 || len(s.Pools) == 0 || s.Diagnosis != nil {
		t.Errorf("sample %+v", s)
	}
	var ids []int64
	for _, c := range r.Checkpoints {
		ids = append(ids, c.ID)
		if c.Path != "" || c.Status != "COMPLETED" && c.TriggerMs < 10_000 {
			t.Errorf("checkpoint %+v", c)
		}
	}
	if len(ids) < 5 || ids[0] != 1 || ids[1] != 2 {
		t.Errorf("checkpoints %v", ids)
	}
	v := r.ValuesAt(13_900)
	if !v.Bool("debloat") || v.Int("debloatTargetMs") != 500 || v.Int("maxParallelism") != 0 {
		t.Errorf("knobs at 13.9 s: %v", v)
	}
}

func TestARecordThatWasChangedIsRefused(t *testing.T) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	public, _ := key.Public().(ed25519.PublicKey)
	r := recorded(t)
	good := file(t, r, key)
	if _, origin, err := ReadRecord(bytes.NewReader(good), public); err != nil || origin != OriginVerified {
		t.Fatalf("%v %v", origin, err)
	}
	plain := unpacked(t, good)
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, plain, "", "  "); err != nil {
		t.Fatal(err)
	}
	if _, origin, err := ReadRecord(bytes.NewReader(packed(t, pretty.Bytes())), public); err != nil || origin != OriginVerified {
		t.Errorf("with white space: %v %v", origin, err)
	}
	change := func(from, to string) []byte {
		t.Helper()
		b := bytes.Replace(plain, []byte(from), []byte(to), 1)
		if bytes.Equal(b, plain) {
			t.Fatalf("%q is not in the record", from)
		}
		return packed(t, b)
	}
	other := file(t, &Record{Lab: "skew"}, key)
	var f, g recordFile
	if err := errors.Join(json.Unmarshal(plain, &f), json.Unmarshal(unpacked(t, other), &g)); err != nil {
		t.Fatal(err)
	}
	f.Signature = g.Signature
	swapped, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		file []byte
		says string
	}{
		{"a knob", change(`"workMs":0.5`, `"workMs":1`), "the digest does not match"},
		{"a figure", change(`"endToEndDurationMs":`, `"endToEndDurationMs":1`), "the digest does not match"},
		{"the digest", change(`"digest":"`, `"digest":"0`), "the digest does not match"},
		{"the signature", packed(t, swapped), "the signature does not match"},
		{"the version", change(`"version":1`, `"version":9`), "format 9"},
		{"another file", packed(t, []byte(`{"hello":1}`)), "no record of a run"},
		{"half of it", good[:len(good)/2], "damaged"},
		{"text", []byte("hello"), "damaged"},
		{"nothing", nil, "damaged"},
		{"a bomb", packed(t, make([]byte, maxRecordJSON+1)), "larger than any record"},
		{"a long file", make([]byte, maxRecordFile+1), "larger than any record"},
		{"deep", packed(t, bytes.Repeat([]byte("["), 100)), "larger than any record"},
	} {
		_, _, err := ReadRecord(bytes.NewReader(c.file), public)
		var refused *RecordError
		if !errors.As(err, &refused) || !strings.Contains(refused.Reason.En, c.says) || refused.Reason.Zh == "" || strings.Contains(refused.Reason.Zh, "%!") {
			t.Errorf("%s changed: %v", c.name, err)
		}
	}
}

// TestARecordOfNoRunIsRefused writes records, with a good digest, that no run could have.
func TestARecordOfNoRunIsRefused(t *testing.T) {
	sample := func(ms int64) *metric.Snapshot { return &metric.Snapshot{TimeMs: ms} }
	many := &metric.Snapshot{Vertices: []metric.Vertex{{Subtasks: make([]metric.Subtask, maxSubtasks+1)}}}
	for name, r := range map[string]*Record{
		"a lab":          {Lab: "nowhere"},
		"a knob":         {Lab: "skew", Knobs: map[string]any{"speed": 1}},
		"a value":        {Lab: "skew", Knobs: map[string]any{"rate": -1}},
		"a change":       {Lab: "skew", Changes: []KnobChange{{AtMs: 1, Name: "rate", From: 1, To: "fast"}}},
		"unknown change": {Lab: "skew", Changes: []KnobChange{{AtMs: 1, Name: "speed"}}},
		"order":          {Lab: "skew", Samples: []*metric.Snapshot{sample(2), sample(1)}},
		"null":           {Lab: "skew", Samples: []*metric.Snapshot{nil}},
		"many":           {Lab: "skew", Samples: make([]*metric.Snapshot, recordSamples+1)},
		"subtasks":       {Lab: "skew", Samples: []*metric.Snapshot{many}},
		"a checkpoint":   {Lab: "skew", Checkpoints: []metric.Checkpoint{{EndToEndDurationMs: -1}}},
	} {
		var refused *RecordError
		if _, _, err := ReadRecord(bytes.NewReader(file(t, r, nil))); !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestARecordStaysSmall(t *testing.T) {
	var k recorder
	for i := range 700 {
		s := &metric.Snapshot{TimeMs: int64(1000 * i), State: "RUNNING"}
		for v := range 3 {
			x := metric.Vertex{ID: strings.Repeat("v", v+1), Subtasks: make([]metric.Subtask, 8)}
			for n := range x.Subtasks {
				// Figures that do not compress.
				x.Subtasks[n].NumRecordsIn = int64(i*7919+n*104729+v) * 1000003 % 99999999
				x.Subtasks[n].Recent.Busy = float64(i*7919%1000) / 7
			}
			s.Vertices = append(s.Vertices, x)
		}
		for n := range 10 {
			s.Checkpoints = append(s.Checkpoints, metric.Checkpoint{ID: int64(i + 10 - n), TriggerMs: int64(i), Status: "COMPLETED", Subtasks: make([]metric.SubtaskCheckpoint, 24)})
		}
		k.sample(s)
		k.mark(Mark{AtMs: s.TimeMs, Kind: MarkAction, Name: "checkpoint", Text: strings.Repeat("长", 400)})
	}
	r := &Run{record: k, job: &fakeJob{done: make(chan struct{})}, lab: backpressureLab()}
	r.record.head.Lab = "backpressure"
	rec := r.Record()
	b := file(t, rec, nil)
	if len(b) > maxRecordFile || len(rec.Samples) < 300 || rec.Last().TimeMs != 699_000 {
		t.Errorf("%d bytes, %d samples up to %d", len(b), len(rec.Samples), rec.Last().TimeMs)
	}
	if _, _, err := ReadRecord(bytes.NewReader(b)); err != nil {
		t.Error(err)
	}
	// A job of thousands of channels gives them up rather than the sample.
	large := &metric.Snapshot{Channels: make([]metric.Channel, 4096), Vertices: []metric.Vertex{{ID: "v", Subtasks: make([]metric.Subtask, 2)}}}
	k = recorder{}
	k.sample(large)
	if got := (&k).open; len(got) != 1 || len(got[0]) > sampleBytes || len(large.Channels) != 4096 || !strings.Contains(string(got[0]), `"id":"v"`) {
		t.Errorf("a large sample: %d of them", len(got))
	}
}

func TestTheRecordKeyIsMadeOnce(t *testing.T) {
	dir := t.TempDir()
	if TrustedRecordKey(dir) != nil {
		t.Error("a key before there is one")
	}
	keys := make([]ed25519.PrivateKey, 8)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			var err error
			if keys[i], err = RecordKey(dir); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, k := range keys {
		if !k.Equal(keys[0]) {
			t.Fatal("two servers made two keys")
		}
	}
	if info, err := os.Stat(filepath.Join(dir, recordKeyFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d files", len(files))
	}
	if public := TrustedRecordKey(dir); !public.Equal(keys[0].Public()) {
		t.Error("the public half differs")
	}
	if err := os.WriteFile(filepath.Join(dir, recordKeyFile), []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := RecordKey(dir); err == nil || !strings.Contains(err.Error(), "does not hold a key") {
		t.Error(err)
	}
}

func TestARecordIsSavedWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.weir")
	r := &Record{Lab: "skew", Knobs: map[string]any{}}
	if err := r.Save(path, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadRecordFile(path); err != nil {
		t.Error(err)
	}
	if err := r.Save(filepath.Join(dir, "none", "run.weir"), nil); err == nil {
		t.Error("saved into a folder that there is not")
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d files are left", len(files))
	}
}

func FuzzReadRecord(f *testing.F) {
	good, err := json.Marshal(&Record{Lab: "skew", Knobs: map[string]any{"rate": 5.0}, Changes: []KnobChange{{1, "rate", 5.0, 6.0}},
		Samples: []*metric.Snapshot{{TimeMs: 1, Vertices: []metric.Vertex{{ID: "source", Subtasks: make([]metric.Subtask, 1)}}}}, Checkpoints: []metric.Checkpoint{{ID: 1}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"lab":"skew","samples":[{"vertices":[{"subtasks":[{},{}]}]},null]}`))
	f.Add([]byte(`{"lab":"skew","changes":[{"name":"rate","from":null,"to":[[]]}]}`))
	f.Add([]byte(`{"weir":"run","version":1,"digest":"","content":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		// As a whole file, as its JSON, and as its content with a good digest.
		for _, in := range [][]byte{b, packed(t, b), packed(t, enveloped(b))} {
			r, origin, err := ReadRecord(bytes.NewReader(in))
			if err != nil {
				continue
			}
			if origin != OriginReported || r == nil {
				t.Fatalf("%v %v", r, origin)
			}
			again, _, err := ReadRecord(bytes.NewReader(file(t, r, nil)))
			if err != nil || again.Lab != r.Lab || len(again.Samples) != len(r.Samples) {
				t.Fatalf("what was read cannot be written and read: %v", err)
			}
		}
	})
}

func enveloped(content []byte) []byte {
	var compact bytes.Buffer
	if json.Compact(&compact, content) != nil {
		return content
	}
	digest := digestOf(compact.Bytes())
	b, err := json.Marshal(recordFile{Weir: "run", Version: RecordFileVersion, Digest: hex.EncodeToString(digest[:]), Content: content})
	if err != nil {
		return content
	}
	return b
}

func TestScriptsWaitForTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := Script{Lab: "backpressure", Knobs: map[string]any{"transport": "memory", "checkpointStorage": "memory"}, ForMs: 9000, Steps: []Step{
			{AtMs: 6000, Set: map[string]any{"rate": -1}, MayFail: true}, {AtMs: 2000, Set: map[string]any{"rate": 100}}}}
		r, err := s.Play(t.Context())
		if err != nil || len(r.Changes) != 1 || r.Changes[0].AtMs != 2000 || time.Since(begin) < 9*time.Second {
			t.Errorf("%+v %v after %v", r, err, time.Since(begin))
		}
		s.Steps[0].MayFail = false
		if _, err := s.Play(t.Context()); err == nil || !strings.Contains(err.Error(), "6000") {
			t.Errorf("a refused step: %v", err)
		}
	})
}
