package labs

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/engine/trace"
)

// question is one of those that the course asks at its beginning or its end, and where a learner sees the answer happen.
type question struct {
	asked string
	lab   string
	// evidence and points must all be linked by the lab's lesson, beside the knobs that make them happen.
	evidence, points, knobs []string
}

// questions are those of section 0 of both chapters and those that close the deep dive. What asks for the remote store and
// its asynchronous reads has no lab yet.
var questions = []question{
	// Network, in the chapter's order.
	{"Which structures does a record pass between two operators?", "buffer-timeout",
		[]string{"only-full", "each-record"}, []string{"recordEmitted", "flush", "readerPolled", "bufferReceived"}, []string{"bufferTimeoutMs"}},
	{"How are network buffers handed out, and how many may a task have?", "backpressure",
		[]string{"pools-full"}, []string{"subpartitionFull"}, []string{"maxBuffersPerSubpartition", "exclusiveBuffers", "floatingBuffers", "networkMemoryBytes"}},
	{"… and what does one full subpartition do to the others?", "skew",
		[]string{"hot-full", "all-pressed"}, []string{"subpartitionFull"}, []string{"maxBuffersPerSubpartition"}},
	{"… and what if a record needs more than there is?", "overdraft",
		[]string{"overdraft-used", "hard-without"}, []string{"softBackpressureBegan"}, []string{"overdraftBuffers", "fanOut"}},
	{"How does flow control by credit work?", "credit",
		[]string{"out-of-credit", "books-balance", "one-a-buffer", "events-pass", "backlog-announced"},
		[]string{"readerPolled", "onlyEventMayPass", "creditAnnounced", "creditAdded"}, []string{"exclusiveBuffers", "floatingBuffers"}},
	{"… and how does pressure come back to the source, step by step?", "backpressure",
		[]string{"source-pressed", "pools-full"}, []string{"subpartitionFull", "softBackpressureBegan"}, []string{"workMs"}},
	{"How are busy, idle and back-pressured computed, and how do they lead to the bottleneck?", "backpressure",
		[]string{"source-pressed", "map-busy"}, []string{"softBackpressureBegan"}, []string{"rate"}},
	{"What does debloating change, and why do checkpoints get shorter?", "backpressure",
		[]string{"barrier-waits", "debloat-shortens", "same-rate", "more-buffers", "size-fits"}, []string{"debloated"}, []string{"debloat", "debloatTargetMs", "debloatThresholdPercent"}},

	// State, in the chapter's order.
	{"What is behind a state object, and how does it know the current key?", "backends",
		[]string{"outside-record", "in-place-kept", "in-place-lost"}, []string{"stateCreated", "keyGroupComputed"}, []string{"backend", "inPlaceUpdate"}},
	{"What is a key group?", "key-groups",
		[]string{"own-groups", "shared-group"}, []string{"keyGroupComputed"}, []string{"keys", "maxParallelism"}},
	{"… and why is the max parallelism for life?", "rescale",
		[]string{"own-groups", "handed-over"}, []string{"handlesIntersected"}, []string{"maxParallelism"}},
	{"How does the heap backend take a snapshot without stopping the task?", "heap",
		[]string{"sync-short", "write-copies", "read-copies", "given-back"}, []string{"entryCopied"}, []string{"snapshotBytesPerSecond"}},
	{"What does an entry of the LSM store look like?", "lsm",
		[]string{"serializes", "prefix-once"}, []string{"compositeKeyBuilt", "valueRead"}, []string{"maxParallelism", "stateBytesPerKey"}},
	{"How does an incremental checkpoint use files again?", "incremental",
		[]string{"uploads-a-part", "inlined", "last-reference", "reuse-known", "failed-deleted"},
		[]string{"nativeCheckpoint", "sstReused", "sstUploaded", "sharedFileDeleted"}, []string{"inlineThresholdBytes", "loseNotifications"}},
	{"How is state cut and merged from two subtasks to three?", "rescale",
		[]string{"own-groups", "handed-over", "by-files"}, []string{"handlesIntersected", "clipped"}, []string{"parallelism", "backend"}},

	// The deep dive.
	{"What is the difference between credit and the flow control of TCP?", "credit",
		[]string{"neighbour-free", "neighbour-stalls"}, []string{"creditAdded"}, []string{"flowControl"}},
	{"Does backpressure make the source stop reading in the end?", "backpressure",
		[]string{"source-pressed", "map-busy"}, []string{"softBackpressureBegan"}, []string{"workMs"}},
	{"When does overdraft help, and what does too much of it cost?", "overdraft",
		[]string{"no-hard", "hard-large", "mail-waits", "price"}, nil, []string{"overdraftBuffers"}},

	// Asked on the way: by the exercises of the state chapter, and by the section on alignment.
	{"Is expired state dropped at the read or at the compaction?", "ttl",
		[]string{"still-stored", "dropped-read", "dropped-behind"}, []string{"stateCreated", "valueRead"}, []string{"ttlMs", "ttlCleanupEntries"}},
	{"What does debloating do to an unaligned checkpoint?", "unaligned",
		[]string{"unaligned-quick", "persists", "debloat-halves"}, []string{"onlyEventMayPass"}, []string{"checkpointMode", "debloat"}},
}

// told is what a lesson links to over all its steps.
func told(t *testing.T, l *Lab) (evidence, points, knobs, exercises []string) {
	t.Helper()
	x, err := l.Lesson("en")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range x.Steps {
		evidence, points = append(evidence, s.Evidence...), append(points, s.Points...)
		knobs, exercises = append(knobs, s.Knobs...), append(exercises, s.Exercises...)
	}
	return evidence, points, knobs, exercises
}

// TestLessonsAnswerTheCoursesQuestions holds each question to claims, tracepoints and knobs that exist and that the lesson
// leads to.
func TestLessonsAnswerTheCoursesQuestions(t *testing.T) {
	for _, q := range questions {
		l, ok := Get(q.lab)
		if !ok {
			t.Errorf("%s: no lab %s", q.asked, q.lab)
			continue
		}
		evidence, points, knobs, _ := told(t, l)
		for _, id := range q.evidence {
			if _, ok := l.EvidenceByID(id); !ok || !slices.Contains(evidence, id) {
				t.Errorf("%s: claim %s of %s exists: %v, the lesson links it: %v", q.asked, id, q.lab, ok, slices.Contains(evidence, id))
			}
		}
		for _, p := range q.points {
			if !slices.Contains(l.Points(), p) || !slices.Contains(points, p) {
				t.Errorf("%s: the page of %s lists tracepoint %s: %v, the lesson links it: %v", q.asked, q.lab, p, slices.Contains(l.Points(), p), slices.Contains(points, p))
			}
		}
		for _, k := range q.knobs {
			if _, ok := l.Knob(k); !ok || !slices.Contains(knobs, k) {
				t.Errorf("%s: %s has the knob %s: %v, the lesson links it: %v", q.asked, q.lab, k, ok, slices.Contains(knobs, k))
			}
		}
		if len(q.evidence) == 0 || len(q.knobs) == 0 {
			t.Errorf("%s: nothing that a learner makes happen", q.asked)
		}
	}
}

// TestLessonsStopAtEveryPoint wants each tracepoint in a lesson of its chapter, and only those that the lab's page lists.
func TestLessonsStopAtEveryPoint(t *testing.T) {
	linked := map[string]bool{}
	for _, l := range All() {
		_, points, _, _ := told(t, l)
		if len(points) == 0 {
			t.Errorf("%s: its lesson stops nowhere", l.ID)
		}
		for _, name := range points {
			if !slices.Contains(l.Points(), name) {
				t.Errorf("%s: its lesson links %s, which its page does not list", l.ID, name)
			}
			if p, err := trace.ParsePoint(name); err == nil && p.OfState() == (l.Chapter == ChapterState) {
				linked[name] = true
			}
		}
	}
	for _, p := range trace.Points() {
		if !linked[p.String()] {
			t.Errorf("no lesson of its chapter stops at %s", p)
		}
	}
}

// flinkOnly are options of Flink that no knob stands for, and its methods that lessons name.
var flinkOnly = []string{"execution.buffer-timeout.enabled", "execution.checkpointing.dir",
	"state.backend.rocksdb.use-bloom-filter", "state.backend.rocksdb.use-ingest-db-restore-mode"}

// TestLessonsNameFlinksOptions wants the options of Flink in every lesson, in both languages the same, and known by a knob.
func TestLessonsNameFlinksOptions(t *testing.T) {
	known := slices.Clone(flinkOnly)
	for _, k := range registry() {
		if k.FlinkOption != "" {
			known = append(known, k.FlinkOption)
		}
	}
	option := regexp.MustCompile("`([a-z]+(?:[.-][a-z0-9-]+)+)`")
	for _, l := range All() {
		var both [2][]string
		for i, lang := range Languages {
			b, err := os.ReadFile("lessons/" + l.ID + "/" + lang + ".md")
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range option.FindAllSubmatch(b, -1) {
				name := string(m[1])
				if strings.Count(name, ".") == 0 {
					continue
				}
				both[i] = append(both[i], name)
				if !slices.Contains(known, name) {
					t.Errorf("%s %s names the option %s, which no knob stands for", l.ID, lang, name)
				}
			}
			slices.Sort(both[i])
			both[i] = slices.Compact(both[i])
		}
		if len(both[0]) == 0 || !slices.Equal(both[0], both[1]) {
			t.Errorf("%s: options named in English %v, in Chinese %v", l.ID, both[0], both[1])
		}
	}
}
