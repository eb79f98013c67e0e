package main

import (
	"path/filepath"
	"strings"
	"testing"

	"weir/labs"
)

func TestARunWritesItsRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.weir")
	run(t, "buffer-timeout", "--for", "2500ms", "--at", "1s:bufferTimeoutMs=0", "--set", "transport=memory", "--record", path)
	r, origin, err := labs.ReadRecordFile(path)
	if err != nil || origin != labs.OriginReported {
		t.Fatal(origin, err)
	}
	if r.Lab != "buffer-timeout" || len(r.Samples) < 1 || len(r.Changes) != 1 || r.Changes[0].To != int64(0) {
		t.Errorf("%+v", r)
	}
	_, errs, status := labserver(t, "", "run", "buffer-timeout", "--for", "1s", "--record", filepath.Join(path, "none"))
	if status != 2 || !strings.Contains(errs, "--record") || strings.Count(errs, "\n") != 1 {
		t.Errorf("a place that cannot be written to: status %d, %s", status, errs)
	}
}
