package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/engine/metric"
)

const (
	flights    = "../../labs/data/flights.csv.gz" // the built-in sample
	allFlights = "../../testdata/flights.csv.gz"
)

// plainCounts counts the flights of a file by destination without the engine.
func plainCounts(t *testing.T, file string) map[string]int64 {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int64{}
	for _, r := range rows[1:] {
		counts[r[5]]++
	}
	return counts
}

// run runs a lab and reads its Snapshot.
func run(t *testing.T, args ...string) *metric.Snapshot {
	t.Helper()
	out, errs, status := labserver(t, "", append([]string{"run", "--json"}, args...)...)
	if status != 0 || errs != "" {
		t.Fatalf("run %v: status %d, %s", args, status, errs)
	}
	var s metric.Snapshot
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

func TestFlightsAreCounted(t *testing.T) {
	for file, rows := range map[string]int64{flights: 20_000, allFlights: 336_776} {
		want := plainCounts(t, file)
		s := run(t, "key-groups", "--input", file, "--key", "dest", "--set", "parallelism=3")
		if s.State != "FINISHED" || s.Totals.RecordsProcessed != rows || !maps.Equal(s.Totals.CountsByKey, want) {
			t.Errorf("%s: %s, %d records, %d counts of %d", file, s.State, s.Totals.RecordsProcessed, len(s.Totals.CountsByKey), len(want))
		}
		if file == allFlights && len(s.Totals.CountsByKey) != 105 {
			t.Errorf("%d destinations, want 105", len(s.Totals.CountsByKey))
		}
	}
}

func TestFlightsAreCountedWithCheckpointsAndKnobsMoving(t *testing.T) {
	want := plainCounts(t, flights)
	for _, transport := range []string{"tcp", "memory"} {
		t.Run(transport, func(t *testing.T) {
			dir := t.TempDir()
			s := run(t, "key-groups", "--input", "flights", "--key", "dest", "--set", "parallelism=3", "--set", "rate=16000", "--set", "transport="+transport,
				"--set", "checkpointIntervalMs=200", "--set", "retainedCheckpoints=3", "--checkpoint-dir", dir,
				"--at", "300ms:debloat=true", "--at", "600ms:debloat=false", "--at", "900ms:debloat=true")
			if s.State != "FINISHED" || !maps.Equal(s.Totals.CountsByKey, want) {
				t.Fatalf("%s, %d counts of %d", s.State, len(s.Totals.CountsByKey), len(want))
			}
			retained, err := filepath.Glob(filepath.Join(dir, "chk-*"))
			if err != nil || len(retained) != 3 {
				t.Fatalf("retained %v", retained)
			}
			for i, chk := range retained {
				again := run(t, "key-groups", "--input", "flights", "--key", "dest", "--set", []string{"parallelism=3", "parallelism=2", "parallelism=4"}[i], "--restore", chk)
				if again.State != "FINISHED" || again.RestoredCheckpointID == 0 || !maps.Equal(again.Totals.CountsByKey, want) {
					t.Errorf("from %s: %s, checkpoint %d, %d counts of %d", filepath.Base(chk), again.State, again.RestoredCheckpointID, len(again.Totals.CountsByKey), len(want))
				}
			}
		})
	}
}

func TestRunEndsAfterItsTimeOrCtrlC(t *testing.T) {
	s := run(t, "backpressure", "--for", "700ms", "--set", "checkpointIntervalMs=200")
	if s.State != "RUNNING" || s.TimeMs < 600 || s.Lab != "backpressure" || s.Knobs["rate"] != 20000.0 || s.Diagnosis == nil {
		t.Errorf("%s at %d ms, %v", s.State, s.TimeMs, s.Knobs)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(500*time.Millisecond, cancel) // as Ctrl-C does
	var o, e bytes.Buffer
	if status := execute(ctx, strings.Fields("run backpressure"), streams{nil, &o, &e}); status != 0 || e.Len() != 0 {
		t.Errorf("status %d: %s", status, e.String())
	}
	if !strings.Contains(o.String(), "backpressure: RUNNING") || !strings.Contains(o.String(), "slow-map 1") {
		t.Errorf("no result so far: %s", o.String())
	}
}

func TestBenchShuffle(t *testing.T) {
	out, errs, status := labserver(t, "", "bench", "shuffle", "--records", "200000", "--keys", "1000", "--json")
	var r struct{ RecordsPerSecond float64 }
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != 0 || r.RecordsPerSecond <= 0 {
		t.Errorf("%v: %d %s%s", err, status, out, errs)
	}
}

// Keys come from a file: in the summary none of them breaks its line or speaks to the terminal.
func TestKeysInTheSummary(t *testing.T) {
	file := write(t, "keys.csv", "k,n\n\"two\nlines\",1\n,2\n\x1b[2J,3\n北京,4\n")
	out, errs, status := labserver(t, "", "run", "key-groups", "--input", file, "--key", "k")
	if status != 0 || errs != "" {
		t.Fatalf("status %d: %s", status, errs)
	}
	for _, want := range []string{`"two\nlines"  1`, `""            1`, `"\x1b[2J"     1`, "北京"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in %s", want, out)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Errorf("an escape sequence in %q", out)
	}
}

// The folder of checkpoints that are deleted at the end is not shown; one that stays is, and with it what a restored run
// began from.
func TestPathsInTheSummary(t *testing.T) {
	dir := t.TempDir()
	args := func(more ...string) []string {
		return append([]string{"run", "key-groups", "--input", "flights", "--key", "dest", "--set", "rate=16000", "--set", "checkpointIntervalMs=200"}, more...)
	}
	out, errs, status := labserver(t, "", args()...)
	if status != 0 || errs != "" || !strings.Contains(out, "COMPLETED") || strings.Contains(out, "chk-") || strings.Contains(out, "from checkpoint") {
		t.Errorf("status %d, %s, %s", status, errs, out)
	}
	if out, errs, status = labserver(t, "", args("--checkpoint-dir", dir)...); status != 0 || errs != "" || !strings.Contains(out, filepath.Join(dir, "chk-")) {
		t.Errorf("kept: status %d, %s, %s", status, errs, out)
	}
	kept, err := filepath.Glob(filepath.Join(dir, "chk-*"))
	if err != nil || len(kept) == 0 {
		t.Fatalf("no checkpoint was kept: %v", err)
	}
	if out, errs, status = labserver(t, "", args("--restore", kept[0])...); status != 0 || errs != "" || !strings.Contains(out, "from checkpoint "+strings.TrimPrefix(filepath.Base(kept[0]), "chk-")+"\n") {
		t.Errorf("restored from %s: status %d, %s, %s", kept[0], status, errs, out)
	}
}
