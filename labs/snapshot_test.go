package labs

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// Scripts read these fields of a Snapshot without asking whether they are there, so that they are, also when nothing has
// happened that they tell of.
func TestSnapshotHasItsFields(t *testing.T) {
	play(t, "backpressure", nil, func(p *played) {
		time.Sleep(6 * time.Second)
		raw, err := json.Marshal(p.Snapshot())
		if err != nil {
			t.Fatal(err)
		}
		var whole any
		if err := json.Unmarshal(raw, &whole); err != nil {
			t.Fatal(err)
		}
		for at, fields := range map[string]string{
			"":                     "lab state timeMs knobs failure restarts restoredCheckpointId vertices pools gates channels checkpoints diagnosis totals",
			"vertices":             "id name parallelism maxParallelism backpressureLevel role subtasks",
			"vertices/subtasks":    "index taskManager keyGroups idleTimeMsPerSecond busyTimeMsPerSecond backPressuredTimeMsPerSecond softBackPressuredTimeMsPerSecond hardBackPressuredTimeMsPerSecond numRecordsIn numRecordsOut numRecordsInPerSecond numRecordsOutPerSecond numBytesOut numBuffersOut numBuffersInLocal numBuffersInRemote numBuffersInLocalPerSecond numBuffersInRemotePerSecond outPoolUsage outPoolUsageMax inPoolUsage inputExclusiveBuffersUsage inputFloatingBuffersUsage pendingRecords meanFill mailboxQueueSize mailboxLatencyMs recent",
			"pools":                "owner size max requested overdraftInUse available",
			"gates":                "vertex subtask index floatingFree floatingTotal",
			"channels":             "from to kind producer sentAddCredit announcedCredit sentBuffers sentEvents overtaken",
			"channels/producer":    "buffers bytes backlog fill credit",
			"checkpoints":          "id status type endToEndDurationMs checkpointedBytes stateBytes processedBytes persistedBytes path failure subtasks",
			"checkpoints/subtasks": "vertex subtask startDelayMs alignmentMs syncMs asyncMs checkpointedBytes",
			"diagnosis":            "bottleneck because advice",
			"totals":               "recordsEmitted recordsProcessed",
		} {
			path := strings.FieldsFunc(at, func(r rune) bool { return r == '/' })
			found := objects(whole, path)
			if len(found) == 0 {
				t.Errorf("%q: nothing there", at)
			}
			for _, o := range found {
				for _, f := range strings.Fields(fields) {
					if v, ok := o[f]; !ok || v == nil {
						t.Errorf("%q has no %s", at, f)
					}
				}
			}
		}
	})
}

// objects are those at a path of field names, through lists.
func objects(v any, path []string) (found []map[string]any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			found = append(found, objects(x, path)...)
		}
	case map[string]any:
		if len(path) == 0 {
			return []map[string]any{v}
		}
		return objects(v[path[0]], path[1:])
	}
	return found
}
