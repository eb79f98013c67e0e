package labs

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestLessonsQuoteRealFlink holds the figures that lessons give as real Flink's to the recorded experiments.
func TestLessonsQuoteRealFlink(t *testing.T) {
	raw, err := os.ReadFile("../testdata/golden/experiments.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Runs []struct {
			Name        string
			Checkpoints []struct{ EndToEndDurationMs, PersistedBytes int64 }
		}
		State struct {
			Hashmap        struct{ StateBytes int64 }
			KeysPerSubtask []int
			Rescale2to3    struct{ KeysPerSubtask []int }
		}
		TrueRates struct {
			Rows []struct {
				Run       string
				PerSecond map[string]float64
			}
		}
	}
	if err := json.Unmarshal(raw, &golden); err != nil {
		t.Fatal(err)
	}
	durations, persisted := map[string]float64{}, map[string]float64{}
	for _, r := range golden.Runs {
		var ms, bytes []int64
		for _, c := range r.Checkpoints {
			ms, bytes = append(ms, c.EndToEndDurationMs), append(bytes, c.PersistedBytes)
		}
		durations[r.Name], persisted[r.Name] = median(ms)/1000, median(bytes)
	}
	var hot float64
	for _, r := range golden.TrueRates.Rows {
		if r.Run == "hot80" {
			hot = r.PerSecond["numRecordsIn"]
		}
	}
	state := golden.State
	keys, three := state.KeysPerSubtask, state.Rescale2to3.KeysPerSubtask
	if len(keys) != 2 || len(three) != 3 {
		t.Fatalf("keys of subtasks: %v and %v", keys, three)
	}
	for _, q := range []struct {
		lab    string
		en, zh string
	}{
		{"backpressure", fmt.Sprintf("took %.1f s, and about %.0f s with debloating", durations["base"], durations["debloat"]),
			fmt.Sprintf("Flink 2.3 是 %.1f 秒，打开消胀后约 %.0f 秒", durations["base"], durations["debloat"])},
		{"unaligned", fmt.Sprintf("at %.2f MB without debloating and at %.0f KB with it", persisted["unaligned"]/1e6, 10*round10(persisted["unaligned-debloat"])),
			fmt.Sprintf("不开消胀是 %.2f MB，打开后是 %.0f KB", persisted["unaligned"]/1e6, 10*round10(persisted["unaligned-debloat"]))},
		{"skew", fmt.Sprintf("measured at %d with this job", figure(hot)), fmt.Sprintf("每秒 %d 条", figure(hot))},
		{"heap", fmt.Sprintf("wrote %d bytes each time", figure(state.Hashmap.StateBytes)), fmt.Sprintf("每次都写 %d 字节", figure(state.Hashmap.StateBytes))},
		{"rescale", fmt.Sprintf("%d on one and %d on the other", keys[0], keys[1]), fmt.Sprintf("一个 %d 个，另一个 %d 个", keys[0], keys[1])},
		{"rescale", fmt.Sprintf("- %d, %d and %d", three[0], three[1], three[2]), fmt.Sprintf("- %d、%d 和 %d", three[0], three[1], three[2])},
	} {
		for lang, want := range map[string]string{"en": q.en, "zh": q.zh} {
			b, err := lessonFiles.ReadFile("lessons/" + q.lab + "/" + lang + ".md")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(b), want) {
				t.Errorf("the lesson of %s does not say %q", q.lab, want)
			}
		}
	}
}

// round10 is a number of bytes in units of 10 KB.
func round10(bytes float64) float64 { return float64(round(bytes / 1e4)) }
