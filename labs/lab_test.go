package labs

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/engine/job"
	"weir/engine/metric"
	"weir/engine/serde"
	"weir/engine/trace"
)

func TestLabsAreWhole(t *testing.T) {
	ids := map[string]bool{}
	for _, l := range All() {
		if ids[l.ID] {
			t.Errorf("two labs are called %s", l.ID)
		}
		ids[l.ID] = true
		for _, text := range []Text{l.Title, l.Summary} {
			if text.En == "" || text.Zh == "" {
				t.Errorf("%s lacks a text", l.ID)
			}
		}
		claims := map[string]bool{}
		for _, e := range l.Evidence {
			if claims[e.ID] || e.Claim.En == "" || e.Claim.Zh == "" || e.judge == nil {
				t.Errorf("%s: claim %q is not whole", l.ID, e.ID)
			}
			claims[e.ID] = true
		}
		knobs := map[string]bool{}
		for i := range l.Knobs {
			if knobs[l.Knobs[i].Name] {
				t.Errorf("%s has %s twice", l.ID, l.Knobs[i].Name)
			}
			knobs[l.Knobs[i].Name] = true
		}
		if _, err := l.With(l.Defaults(), nil); err != nil {
			t.Errorf("%s: its defaults are refused: %v", l.ID, err)
		}
		if _, err := l.build(l.Defaults(), nil, &probes{}); err != nil {
			t.Errorf("%s: %v", l.ID, err)
		}
	}
	if _, err := Find("backpresure"); err == nil || !strings.Contains(err.Error(), "did you mean backpressure?") {
		t.Errorf("a mistyped lab: %v", err)
	}
	if _, err := Find("zzz"); err == nil || !strings.Contains(err.Error(), "there are buffer-timeout, backpressure, ") {
		t.Errorf("an unknown lab: %v", err)
	}
}

func TestLessonsMatchInBothLanguages(t *testing.T) {
	for _, l := range All() {
		var texts []*Lesson
		for _, lang := range Languages {
			x, err := l.Lesson(lang)
			if err != nil {
				t.Fatal(err)
			}
			if x.Title != l.Title.In(lang) {
				t.Errorf("%s %s: the lesson is called %q, the lab %q", l.ID, lang, x.Title, l.Title.In(lang))
			}
			texts = append(texts, x)
			for _, s := range x.Steps {
				if s.Title == "" || s.HTML == "" && s.ID != "predict" {
					t.Errorf("%s %s: step %s is empty", l.ID, lang, s.ID)
				}
				for _, k := range s.Knobs {
					if _, ok := l.Knob(k); !ok {
						t.Errorf("%s %s: step %s names the knob %q, which the lab has not", l.ID, lang, s.ID, k)
					}
				}
				for _, p := range s.Points {
					if _, err := trace.ParsePoint(p); err != nil {
						t.Errorf("%s %s: step %s: %v", l.ID, lang, s.ID, err)
					}
				}
				for _, e := range s.Evidence {
					if _, ok := l.EvidenceByID(e); !ok {
						t.Errorf("%s %s: step %s names the claim %q, which the lab has not", l.ID, lang, s.ID, e)
					}
				}
				if strings.Contains(string(s.HTML), "knob:") || strings.Contains(string(s.HTML), "evidence:") {
					t.Errorf("%s %s: step %s has a link that leads nowhere", l.ID, lang, s.ID)
				}
				if strings.Contains(string(s.HTML), "**") {
					t.Errorf("%s %s: step %s has marks of bold that are none", l.ID, lang, s.ID)
				}
			}
		}
		var told []string
		for i, a := range texts[0].Steps {
			b := texts[1].Steps[i]
			if !slices.Equal(a.Knobs, b.Knobs) || !slices.Equal(a.Evidence, b.Evidence) || !slices.Equal(a.Points, b.Points) || !slices.Equal(a.Exercises, b.Exercises) || len(a.Choices) != len(b.Choices) {
				t.Errorf("%s: step %s differs: %v %v %d, %v %v %d", l.ID, a.ID, a.Knobs, a.Evidence, len(a.Choices), b.Knobs, b.Evidence, len(b.Choices))
			}
			told = append(told, a.Evidence...)
		}
		if a, b := texts[0].Quiz, texts[1].Quiz; len(a) != 3 || len(b) != 3 {
			t.Errorf("%s: %d and %d questions close the lesson, expected 3", l.ID, len(a), len(b))
		} else {
			for i := range a {
				if a[i].Right != b[i].Right || len(a[i].Choices) != len(b[i].Choices) {
					t.Errorf("%s: question %d has %d answers, the right one at %d, and in Chinese %d and %d", l.ID, i+1, len(a[i].Choices), a[i].Right, len(b[i].Choices), b[i].Right)
				}
			}
		}
		if len(texts[0].Steps[0].Choices) < 2 {
			t.Errorf("%s: nothing to predict", l.ID)
		}
		for _, e := range l.Evidence {
			if !slices.Contains(told, e.ID) {
				t.Errorf("%s: the lesson does not speak of %s", l.ID, e.ID)
			}
		}
	}
	if _, err := parseLesson([]byte("# A\n\n## B {#run}\n")); err == nil {
		t.Error("a lesson without its steps was taken")
	}
}

// TestLessonsNameReadingsThatExist looks at what stands in code marks and is written like a reading.
func TestLessonsNameReadingsThatExist(t *testing.T) {
	known := map[string]bool{}
	var fields func(typ reflect.Type)
	seen := map[reflect.Type]bool{}
	fields = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			known[name] = true
			fields(typ.Field(i).Type)
		}
	}
	fields(reflect.TypeFor[metric.Snapshot]())
	for _, p := range trace.Points() {
		known[p.String()] = true
	}
	for _, k := range registry() {
		known[k.Name] = true
	}
	for _, name := range traceFields(t) {
		known[name] = true
	}
	// Flink's own names, that Weir has no reading of.
	for _, name := range strings.Fields("lastCheckpointFullSize numLateRecordsDropped sendToMailbox") {
		known[name] = true
	}
	camel := regexp.MustCompile("`([a-z]+[A-Z][A-Za-z]*)`")
	files, err := filepath.Glob("lessons/*/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		b, err := lessonFiles.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range camel.FindAllSubmatch(b, -1) {
			if !known[string(m[1])] {
				t.Errorf("%s names the reading `%s`, which there is not", f, m[1])
			}
		}
	}
}

// traceFields are the names of the fields that tracepoints carry, read from the engine's sources.
func traceFields(t *testing.T) []string {
	var names []string
	field := regexp.MustCompile(`trace\.(?:Int|Str)\("(\w+)"`)
	err := filepath.WalkDir("../engine", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range field.FindAllSubmatch(b, -1) {
			names = append(names, string(m[1]))
		}
		return err
	})
	if err != nil || len(names) == 0 {
		t.Fatal("no fields of tracepoints", err)
	}
	return names
}

// TestEverySentenceExists reads the sources for the keys that are said, and holds their figures against the catalogue.
func TestEverySentenceExists(t *testing.T) {
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, phase := range []string{"startDelay", "alignment", "sync", "async"} {
		said["checkpoint."+phase] = true
	}
	place := regexp.MustCompile(`%[.\d]*\[(\d)\]`)
	figures := func(s string) int {
		most := 0
		for _, m := range place.FindAllStringSubmatch(s, -1) {
			n, _ := strconv.Atoi(m[1])
			most = max(most, n)
		}
		return most
	}
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if id, ok := call.Fun.(*ast.Ident); !ok || id.Name != "say" {
				return true
			}
			lit, ok := call.Args[0].(*ast.BasicLit)
			if !ok {
				return true // the phases of a checkpoint
			}
			key, _ := strconv.Unquote(lit.Value)
			said[key] = true
			if most := figures(catalogue[key].En); most > len(call.Args)-1 {
				t.Errorf("%s shows figure %d, it is said with %d", key, most, len(call.Args)-1)
			}
			return true
		})
	}
	if n := len(sentences) + len(networkSentences) + len(stateSentences) + len(eventTimeSentences) + len(valueSentences); n != len(catalogue) {
		t.Errorf("%d sentences have %d keys: two share one, and the later is said for both", n, len(catalogue))
	}
	for key := range said {
		if _, ok := catalogue[key]; !ok {
			t.Errorf("no sentence %s", key)
		}
	}
	for key, x := range catalogue {
		if !said[key] {
			t.Errorf("nobody says %s", key)
		}
		a, b := place.FindAllString(x.En, -1), place.FindAllString(x.Zh, -1)
		slices.Sort(a)
		slices.Sort(b)
		if x.En == "" || x.Zh == "" || !slices.Equal(a, b) {
			t.Errorf("%s: the languages show other figures: %v, %v", key, a, b)
		}
	}
}

func TestListHasTheContractsFields(t *testing.T) {
	b, err := json.Marshal(List())
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		ID, Chapter, Title string
		Knobs              []map[string]any
	}
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	for _, l := range list {
		if l.ID == "" || l.Chapter == "" || l.Title == "" || len(l.Knobs) == 0 {
			t.Errorf("lab %+v", l)
		}
		for _, k := range l.Knobs {
			for _, field := range []string{"name", "type", "default", "takesEffect", "help"} {
				if k[field] == nil {
					t.Errorf("%s: knob %v has no %s", l.ID, k["name"], field)
				}
			}
			if k["type"] == "int" && (k["min"] == nil || k["max"] == nil) {
				t.Errorf("%s: knob %v has no range", l.ID, k["name"])
			}
		}
	}
}

func TestFlinkYAML(t *testing.T) {
	l, _ := Get("backpressure")
	v, err := l.With(l.Defaults(), map[string]any{"debloat": true, "bufferTimeoutMs": -1, "floatingBuffers": 4, "checkpointIntervalMs": 0})
	if err != nil {
		t.Fatal(err)
	}
	y := l.FlinkYAML(v)
	for _, want := range []string{
		"parallelism.default: 2\n", "pipeline.max-parallelism: -1\n",
		"execution.buffer-timeout.enabled: false\n",
		"taskmanager.network.memory.buffer-debloat.enabled: true\n", "taskmanager.network.memory.buffer-debloat.target: 1000 ms\n",
		"taskmanager.network.memory.buffer-debloat.threshold-percentages: 25\n",
		"taskmanager.memory.segment-size: 32768 b\n", "taskmanager.memory.network.min: 67108864 b\n", "taskmanager.memory.network.max: 67108864 b\n",
		"#   taskmanager.network.memory.buffers-per-channel: 2\n",
		"#   taskmanager.network.memory.floating-buffers-per-gate: 8   (this lab runs with 4; Flink 2.3 cannot)\n",
		"# periodic checkpoints are off", "execution.checkpointing.storage: filesystem\n", "#   rate: 20000\n",
	} {
		if !strings.Contains(y, want) {
			t.Errorf("no %q in\n%s", want, y)
		}
	}
}

func TestFlinkYAMLOfUnalignedCheckpoints(t *testing.T) {
	l, _ := Get("unaligned")
	v, err := l.With(l.Defaults(), map[string]any{"checkpointMode": "unaligned", "alignedTimeoutMs": 500})
	if err != nil {
		t.Fatal(err)
	}
	y := l.FlinkYAML(v)
	for _, want := range []string{"execution.checkpointing.unaligned.enabled: true\n", "execution.checkpointing.aligned-checkpoint-timeout: 500 ms\n"} {
		if !strings.Contains(y, want) {
			t.Errorf("no %q in\n%s", want, y)
		}
	}
	if y := l.FlinkYAML(l.Defaults()); !strings.Contains(y, "execution.checkpointing.unaligned.enabled: false\n") {
		t.Errorf("aligned:\n%s", y)
	}
}

func TestGraphs(t *testing.T) {
	l, _ := Get("backpressure")
	shape := func(given map[string]any) string {
		v, err := l.With(l.Defaults(), given)
		if err != nil {
			t.Fatal(err)
		}
		g, err := l.build(v, nil, &probes{})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, x := range g.Vertices {
			b.WriteString(x.ID)
			for _, o := range x.Operators {
				b.WriteString("+" + o.Name)
			}
			b.WriteString(" ")
		}
		for _, e := range g.Edges {
			b.WriteString(e.From + map[job.Exchange]string{job.Hash: "=", job.Forward: "-"}[e.Exchange] + e.To + " ")
		}
		return b.String()
	}
	if got, want := shape(nil), "source slow-map+slow-map+sink source=slow-map "; got != want {
		t.Errorf("chained: %s, want %s", got, want)
	}
	if got, want := shape(map[string]any{"chaining": false}), "source slow-map+slow-map sink+sink source=slow-map slow-map-sink "; got != want {
		t.Errorf("not chained: %s, want %s", got, want)
	}
	k, _ := Get("key-groups")
	in, err := SampleFlights().WithKey("dest")
	if err != nil {
		t.Fatal(err)
	}
	v, err := k.Values(map[string]any{"parallelism": 3}, in)
	if err != nil {
		t.Fatal(err)
	}
	g, err := k.build(v, in, &probes{})
	if err != nil {
		t.Fatal(err)
	}
	if v.Float("rate") != 0 || g.Edges[0].Schema != (serde.Schema{Key: serde.String}) {
		t.Errorf("a file at %v records/s with %+v", v.Float("rate"), g.Edges[0].Schema)
	}
	if v, err = k.Values(map[string]any{"keyType": "long"}, in); err != nil {
		t.Fatal(err)
	}
	if _, err = k.build(v, in, &probes{}); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("destinations as numbers: %v", err)
	}
}

func TestPlaceKey(t *testing.T) {
	want := []int{94, 86, 127, 113, 7, 126, 18, 113, 15, 51, 67, 102, 50, 1, 27, 70}
	owners := [2]int{}
	for n, group := range want {
		p, err := PlaceKey(serde.Long, strconv.Itoa(n), 128, 2)
		if err != nil || p.KeyGroup != group {
			t.Errorf("key %d: %+v %v, want group %d", n, p, err, group)
		}
		owners[p.Subtask]++
	}
	if owners != [2]int{7, 9} {
		t.Errorf("keys a subtask: %v, want 7 and 9", owners)
	}
}

func TestSampleFlights(t *testing.T) {
	in := SampleFlights()
	if in.Rows != 20_000 || !slices.Contains(in.Columns, "dest") {
		t.Errorf("%d rows of %v", in.Rows, in.Columns)
	}
	if _, err := in.WithKey("destination"); err == nil || !strings.Contains(err.Error(), "dest") {
		t.Errorf("a missing column: %v", err)
	}
}
