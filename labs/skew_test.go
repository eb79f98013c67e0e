package labs

import (
	"testing"
	"time"

	"weir/engine/metric"
)

func TestAHotKeyAndItsCures(t *testing.T) {
	play(t, "skew", map[string]any{"workMs": 1.08}, func(p *played) {
		time.Sleep(15 * time.Second)
		a, b := p.measure(34 * time.Second)
		records, _ := consumed(t, a, b)
		near(t, "records/s", records, 1136, 0.15)
		near(t, "checkpoint", medianCheckpoint(t, b), 3000, 0.15)
		for _, x := range vertexOf(t, b, "source").Subtasks {
			if x.Recent.BackPressured < 950 {
				t.Errorf("source %d is back-pressured for %.0f ms/s", x.Index, x.Recent.BackPressured)
			}
		}
		subtasks := vertexOf(t, b, "slow-map").Subtasks
		busy := greatest(subtasks, func(x *metric.Subtask) float64 { return x.Recent.Busy })
		idle := greatest(subtasks, func(x *metric.Subtask) float64 { return x.Recent.Idle })
		if busy < 950 || idle < 950 {
			t.Errorf("the hot consumer is busy for %.0f ms/s, the other idle for %.0f", busy, idle)
		}
		if b.Diagnosis.Bottleneck != "slow-map" {
			t.Errorf("diagnosis %+v", b.Diagnosis)
		}
		p.expectShown("hot-full", "one-busy", "all-pressed")
		load := p.KeyLoads()[0]
		if load.Vertex != "slow-map" || load.MaxParallelism != 128 || load.Hottest != 94 || len(load.Subtasks) != 2 {
			t.Fatalf("load %+v", load)
		}
		for _, g := range load.Groups {
			if g.Group == load.Hottest && (g.Share < 0.75 || g.Share > 0.85 || g.Bytes < 200*g.Records) {
				t.Errorf("the hot group %+v", g)
			}
		}
		if load.Skew < 1.7 {
			t.Errorf("skew %.2f", load.Skew)
		}
		t.Logf("%d groups, skew %.2f, %+v", len(load.Groups), load.Skew, load.Subtasks)

		p.set("keys", 1280)
		time.Sleep(16 * time.Second)
		p.set("keys", 128)
		p.set("maxParallelism", 256)
		time.Sleep(16 * time.Second)
		p.set("maxParallelism", 0)
		p.set("twoStage", true)
		time.Sleep(16 * time.Second)
		p.expectShown("keys-do-not-help", "groups-do-not-help", "two-stages-help")
		for _, c := range p.Comparisons() {
			t.Logf("%v: %.0f records/s emitted, gain %.2f, %.1f s", c.Knobs, c.EmittedPerSecond, c.Gain, c.Seconds)
		}
		if r := p.row("twoStage", true); r.Gain < 2 {
			t.Errorf("two stages gain %.2f", r.Gain)
		}
		if loads := p.KeyLoads(); len(loads) != 2 || loads[0].Vertex != "pre-count" || loads[0].Skew > 1.3 {
			t.Errorf("loads %+v", loads)
		}
	})
}

// The time that the sources stand still for a restart is no part of the row before: with a short run it would be a third.
func TestAGainIsNotMeasuredAgainstAStop(t *testing.T) {
	play(t, "skew", map[string]any{"workMs": 1.08}, func(p *played) {
		time.Sleep(10 * time.Second)
		p.set("keys", 1280)
		time.Sleep(12 * time.Second)
		near(t, "records/s of the first row", p.row("keys", int64(128)).EmittedPerSecond, 1136, 0.15)
		near(t, "gain of more keys", p.row("keys", int64(1280)).Gain, 1, 0.15)
	})
}

func TestFewKeysAreCuredByMore(t *testing.T) {
	play(t, "skew", map[string]any{"workMs": 1.08, "hotKeyShare": 0, "workOn": "all", "keys": 4}, func(p *played) {
		time.Sleep(16 * time.Second)
		p.set("keys", 128)
		time.Sleep(16 * time.Second)
		p.expectShown("few-keys")
		if r := p.row("keys", int64(128)); r.Gain < 1.5 {
			t.Errorf("gain %.2f", r.Gain)
		}
	})
}

func TestSkewOfAFile(t *testing.T) {
	in, err := SampleFlights().WithKey("dest")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Start(StartOptions{Lab: "skew", Input: in, Knobs: map[string]any{"workMs": 0, "checkpointStorage": "memory"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	<-r.Done()
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	load := r.KeyLoads()[0]
	var records int64
	for _, g := range load.Groups {
		records += g.Records
	}
	if records != 20_000 || load.Skew <= 1 || len(load.Groups) < 50 {
		t.Errorf("%d records in %d groups, skew %.2f", records, len(load.Groups), load.Skew)
	}
}
