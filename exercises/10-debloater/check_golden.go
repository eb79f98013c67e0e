package debloater

import (
	"context"
	"encoding/json"
	"fmt"

	"weir/engine/task"
	"weir/exercises/history"
	"weir/exercises/kit"
	"weir/labs"
	"weir/testdata/golden"
)

// goldenCase is a case of debloater.json of which only the kind debloater is used: each step is throughput, buffers in
// use, announced size or null, last size, and estimate in ms.
type goldenCase struct {
	Kind             string `json:"kind"`
	TargetMs         int64  `json:"targetMs"`
	Start            int    `json:"start"`
	Max              int    `json:"max"`
	Min              int    `json:"min"`
	ThresholdPercent int    `json:"thresholdPercent"`
	Samples          int    `json:"samples"`
	Steps            []json.RawMessage
}

// goldenCases replays what real Flink answered.
func goldenCases(_ context.Context, w *kit.Work, _ uint64) *kit.Finding {
	data, err := golden.Files.ReadFile("debloater.json")
	var file struct{ Cases []goldenCase }
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		return history.Broken(err)
	}
	played := 0
	for n, c := range file.Cases {
		if c.Kind != "debloater" {
			continue
		}
		played++
		d, err := c.play(w.Core, int64(n))
		if err != nil {
			return history.Broken(fmt.Errorf("debloater.json, case %d: %w", n, err))
		}
		if d != nil {
			d.Call = fmt.Sprintf("case %d, step %d: %s", n+1, d.Step+1, d.Call)
			return d.Finding(
				labs.Text{En: "The answers of Flink 2.3.0 that Weir keeps in testdata/golden/debloater.json", Zh: "Weir 在 testdata/golden/debloater.json 中保存的 Flink 2.3.0 的回答"},
				labs.Text{En: "One off? Then it is the rounding or the whole ms. More? Then check the order: bound the wanted size, average, hold to the limits, round, compare.", Zh: "只差一？那是取整或整毫秒的问题。差得更多？检查顺序：限制期望大小、求平均、限制范围、取整、比较。"})
		}
	}
	if played == 0 {
		return history.Broken(fmt.Errorf("debloater.json has no case"))
	}
	return nil
}

func (c *goldenCase) play(core kit.Core, number int64) (*history.Difference, error) {
	config := task.DebloatConfig{
		Target: millis(c.TargetMs), Start: c.Start, Min: c.Min, Max: c.Max, ThresholdPercent: c.ThresholdPercent, Samples: c.Samples,
	}
	p := begin(core, number, config)
	for i, raw := range c.Steps {
		var v []*int64
		if err := json.Unmarshal(raw, &v); err != nil || len(v) != 5 || v[0] == nil || v[1] == nil || v[3] == nil || v[4] == nil {
			return nil, fmt.Errorf("step %d: %s: %w", i, raw, err)
		}
		want := answer{int(*v[3]), v[2] != nil, *v[4]}
		st := step{*v[0], int(*v[1])}
		if d := differs(i, config, st, want, p.recalculate(st.throughput, st.inUse), true); d != nil {
			return d, nil
		}
	}
	return nil, nil
}
