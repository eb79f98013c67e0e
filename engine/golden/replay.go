package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrUnknown is the error of a file that holds no golden cases that can be replayed here.
var ErrUnknown = errors.New("no golden file of a known sort")

// sort is one sort of golden file.
type sort struct {
	name   string // the file's usual name
	replay func([]byte) (Report, error)
	// kinds are the values of "kind" that its cases have; fields are what each case has if there are none; sections what
	// a file without cases has.
	kinds, fields, sections []string
}

var sorts = []sort{
	{name: "keygroups.json", replay: KeyGroups, kinds: []string{"murmur", "key"}},
	{name: "keygroup_ranges.json", replay: KeyGroupRanges, kinds: []string{"ranges", "operators", "default"}},
	{name: "serialized_records.json", replay: SerializedRecords, kinds: []string{"record", "watermark", "watermarkStatus",
		"latencyMarker", "recordAttributes", "spanning", "event", "dataType"}},
	{name: "redistribute.json", replay: Redistribute, kinds: []string{"pools", "partitionSize", "gateSize"}},
	{name: "debloater.json", replay: Debloater, kinds: []string{"ema", "debloater", "throughput", "defaults"}},
	{name: "local_buffer_pool.json", replay: LocalBufferPool, fields: []string{"maxBuffersPerChannel", "overdraft", "steps"}},
	{name: "timer_gauge.json", replay: TimerGauge, fields: []string{"timeSpanSeconds", "steps"}},
	{name: "netty_frames.json", replay: NettyFrames, fields: []string{"message", "id"}},
	{name: "metric_names.json", replay: MetricNames, fields: []string{"path"}},
	{name: "composite_key.json", replay: CompositeKeys, kinds: []string{"prefixBytes", "composite", "compositeUserKey", "timer", "length"}},
	{name: "operator_state_repartition.json", replay: OperatorState, fields: []string{"oldParallelism", "newParallelism", "states"}},
	{name: "experiments.json", replay: Experiments, sections: []string{"runs", "state"}},
	{name: "prometheus_exposition.txt", replay: PrometheusExposition},
}

// Replay replays a golden file: which sort it is, its content says; where that does not tell, its name. An error names
// the file; it is ErrUnknown for a file of no known sort, anything else for a damaged one.
func Replay(path string) (Report, error) {
	data, err := read(path)
	if err != nil {
		return Report{}, err
	}
	s, err := sortOf(filepath.Base(path), data)
	if err != nil {
		return Report{}, fmt.Errorf("%s: %w", path, err)
	}
	report, err := s.replay(data)
	if err != nil {
		return Report{}, fmt.Errorf("%s: %w", path, err)
	}
	return report, nil
}

// maxFileBytes is far beyond any golden file.
const maxFileBytes = 64 << 20

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(data) > maxFileBytes {
		err = fmt.Errorf("%s: %w: it has more than %d bytes", path, ErrUnknown, maxFileBytes)
	}
	return data, err
}

func sortOf(name string, data []byte) (*sort, error) {
	named := slices.IndexFunc(sorts, func(s sort) bool { return s.name == name })
	if bytes.HasPrefix(data, []byte("# HELP flink_")) {
		return &sorts[len(sorts)-1], nil
	}
	var file struct {
		Cases []map[string]json.RawMessage `json:"cases"`
	}
	if err := json.Unmarshal(data, &file); err == nil {
		var all map[string]json.RawMessage
		_ = json.Unmarshal(data, &all) // it was an object
		for i := range sorts {
			if sorts[i].fits(file.Cases) || file.Cases == nil && sorts[i].has(all) {
				return &sorts[i], nil
			}
		}
	} else if named < 0 && strings.EqualFold(filepath.Ext(name), ".json") {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("no JSON: %w at byte %d", err, syntax.Offset)
		}
	}
	if named >= 0 {
		return &sorts[named], nil // it says itself what it misses
	}
	known := make([]string, len(sorts))
	for i, s := range sorts {
		known[i] = s.name
	}
	return nil, fmt.Errorf("%w; there are %s", ErrUnknown, strings.Join(known, ", "))
}

// has tells whether a file has all sections of this sort.
func (s *sort) has(all map[string]json.RawMessage) bool {
	return len(s.sections) > 0 && !slices.ContainsFunc(s.sections, func(name string) bool { return all[name] == nil })
}

// fits tells whether some case is of this sort.
func (s *sort) fits(cases []map[string]json.RawMessage) bool {
	return slices.ContainsFunc(cases, func(c map[string]json.RawMessage) bool {
		if s.kinds != nil {
			var kind string
			return json.Unmarshal(c["kind"], &kind) == nil && slices.Contains(s.kinds, kind)
		}
		for _, f := range s.fields {
			if _, ok := c[f]; !ok {
				return false
			}
		}
		return len(s.fields) > 0
	})
}
