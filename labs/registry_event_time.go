package labs

import "weir/engine/task"

// The two inputs of the lab of event time, as its vertices and as the values of idleInput.
const (
	firstInput  = "source"
	secondInput = "source-2"
)

// eventTimeKnobs are those of event times, watermarks and windows.
func eventTimeKnobs() []Knob {
	return []Knob{
		enumKnob(Knob{
			Name: "idleInput", Group: "load", Values: []string{task.NoInput, firstInput, secondInput}, TakesEffect: Now,
			Label: Text{"Silent input", "沉默的输入"},
			Help: Text{"The source that sends nothing. Its event time goes on meanwhile, as that of a topic in which nothing happens.",
				"不发送任何记录的 source。它的事件时间照样前进，好比一个暂时没有消息的主题。"},
		}, func(s *task.Settings) *string { return &s.IdleInput }),
		intKnob(Knob{
			Name: "idleTimeoutMs", Group: "load", Min: 0, Max: 600_000, Unit: "ms", Scale: "log", TakesEffect: Now, FlinkOption: "table.exec.source.idle-timeout",
			Label: Text{"Idle timeout", "空闲超时"},
			Help: Text{"After so long without a record a source counts as idle, and its channels hold nothing back. 0: it never does.",
				"这么久没有记录，source 就算空闲，它的通道不再拖住时间。0 表示永远不算。"},
		}, func(s *task.Settings) *int { return &s.IdleTimeoutMs }),
		intKnob(Knob{
			Name: "disorderMs", Group: "load", Min: 0, Max: 60_000, Unit: "ms", Scale: "log", TakesEffect: Now,
			Label: Text{"Disorder", "乱序程度"},
			Help: Text{"By up to so much a record's event time lies behind the newest of its source.",
				"记录的事件时间最多落后于本 source 最新时间这么多。"},
		}, func(s *task.Settings) *int { return &s.DisorderMs }),
		intKnob(Knob{
			Name: "outOfOrdernessMs", Group: "load", Min: 0, Max: 60_000, Unit: "ms", Scale: "log", TakesEffect: Now,
			Label: Text{"Allowed disorder", "容许的乱序"},
			Help: Text{"A watermark stays so far behind the newest event time. It is the argument of forBoundedOutOfOrderness: a record that is later than this may find its window gone.",
				"水位线落后于最新事件时间这么多，就是 forBoundedOutOfOrderness 的参数：比这更晚的记录可能发现窗口已经关闭。"},
		}, func(s *task.Settings) *int { return &s.OutOfOrdernessMs }),
		intKnob(Knob{
			Name: "watermarkIntervalMs", Group: "load", Min: 10, Max: 10_000, Unit: "ms", Scale: "log", TakesEffect: Now, FlinkOption: "pipeline.auto-watermark-interval",
			Label: Text{"Watermark interval", "水位线间隔"},
			Help: Text{"How often a source says how far its event time has come.",
				"source 每隔多久报告一次自己的事件时间。"},
		}, func(s *task.Settings) *int { return &s.WatermarkIntervalMs }),
		intKnob(Knob{
			Name: "windowMs", Group: "load", Min: 100, Max: 600_000, Unit: "ms", Scale: "log", TakesEffect: Now,
			Label: Text{"Window", "窗口长度"},
			Help: Text{"Length of the tumbling windows. Windows that are open keep theirs.",
				"滚动窗口的长度。已经打开的窗口保持原来的长度。"},
		}, func(s *task.Settings) *int { return &s.WindowMs }),
	}
}
