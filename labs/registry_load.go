package labs

import "weir/engine/task"

// maxExact is the largest integer that a JSON number of a browser holds exactly.
const maxExact = 1<<53 - 1

func loadKnobs() []Knob {
	return []Knob{
		floatKnob(Knob{
			Name: "rate", Group: "load", Min: 0, Max: 100_000_000, Unit: "records/s", Scale: "log", TakesEffect: Now,
			Label: Text{"Source rate", "source 速率"},
			Help: Text{"Records per second that all source subtasks together may emit. 0 takes the limit away.",
				"所有 source 子任务合计每秒最多发出的记录数。0 表示不限速。"},
		}, func(s *task.Settings) *float64 { return &s.Rate }),
		intKnob(Knob{
			Name: "recordBytes", Group: "load", Min: 0, Max: 1 << 20, Unit: "bytes", Scale: "log", TakesEffect: Restart,
			Label: Text{"Payload", "载荷大小"},
			Help: Text{"Characters in each record's payload. 256 make about 270 bytes on the wire: a length, a tag and the key come on top.",
				"每条记录载荷的字符数。256 个字符在网络上约为 270 字节，另加长度、标记和键。"},
		}, func(s *task.Settings) *int { return &s.RecordBytes }),
		longKnob(Knob{
			Name: "keys", Group: "load", Min: 1, Max: 100_000_000, Scale: "log", TakesEffect: Restart,
			Label: Text{"Keys", "键的个数"},
			Help: Text{"How many different keys the generator uses, numbered from 0. Few keys cannot be spread evenly.",
				"生成器使用的不同键的个数，从 0 开始编号。键太少就无法均匀分布。"},
		}, func(s *task.Settings) *int64 { return &s.Keys }),
		enumKnob(Knob{
			Name: "keyType", Group: "load", Values: []string{"long", "int", "string", "bool", "double"}, TakesEffect: Restart, StartsEmpty: true,
			Label: Text{"Key type", "键的类型"},
			Help: Text{"The Java type of the key. It decides the hash code, and with it the key group. Stored state of another key type cannot be read, so a change starts from empty state.",
				"键的 Java 类型，它决定哈希码，也就决定键组。已存的状态无法按另一种类型读取，因此修改后从空状态开始。"},
		}, func(s *task.Settings) *string { return &s.KeyType }),
		floatKnob(Knob{
			Name: "hotKeyShare", Group: "load", Min: 0, Max: 1, TakesEffect: Now,
			Label: Text{"Hot key share", "热点键占比"},
			Help: Text{"Share of the records that all go to one key. 0 spreads them evenly.",
				"集中到同一个键上的记录所占比例。0 表示均匀分布。"},
		}, func(s *task.Settings) *float64 { return &s.HotKeyShare }),
		floatKnob(Knob{
			Name: "workMs", Group: "load", Min: 0, Max: 10_000, Unit: "ms", Scale: "log", TakesEffect: Now,
			Label: Text{"Work per record", "每条记录的工作量"},
			Help: Text{"How long the slow operator works on one record. At 1 ms a subtask cannot pass 1,000 records a second.",
				"慢算子处理一条记录所用的时间。1 毫秒意味着一个子任务每秒最多处理 1,000 条。"},
		}, func(s *task.Settings) *float64 { return &s.WorkMs }),
		enumKnob(Knob{
			Name: "workKind", Group: "load", Values: []string{"sleep", "cpu"}, TakesEffect: Now,
			Label: Text{"Kind of work", "工作方式"},
			Help: Text{"sleep waits, as a call to a slow database does; cpu keeps a core busy.",
				"sleep 只是等待，好比调用很慢的数据库；cpu 则占满一个核。"},
		}, func(s *task.Settings) *string { return &s.WorkKind }),
		enumKnob(Knob{
			Name: "workOn", Group: "load", Values: []string{"all", "hot"}, TakesEffect: Now,
			Label: Text{"Work on", "对哪些记录工作"},
			Help: Text{"Whether every record costs work, or only those of the hot key.",
				"每条记录都有工作量，还是只有热点键的记录才有。"},
		}, func(s *task.Settings) *string { return &s.WorkOn }),
		floatKnob(Knob{
			Name: "sinkWorkMs", Group: "load", Min: 0, Max: 10_000, Unit: "ms", Scale: "log", TakesEffect: Now,
			Label: Text{"Sink work", "Sink 工作量"},
			Help: Text{"How long the sink works on one record. Chained to the slow operator it adds to the same task.",
				"sink 处理一条记录所用的时间。与慢算子链在一起时，计入同一个任务。"},
		}, func(s *task.Settings) *float64 { return &s.SinkWorkMs }),
		intKnob(Knob{
			Name: "fanOut", Group: "load", Min: 1, Max: 1_000_000, Unit: "records", Scale: "log", TakesEffect: Now,
			Label: Text{"Fan-out", "扇出"},
			Help: Text{"Records that a flatMap emits for each one it takes in.",
				"flatMap 每读入一条记录所发出的记录数。"},
		}, func(s *task.Settings) *int { return &s.FanOut }),
		boolKnob(Knob{
			Name: "twoStage", Group: "load", TakesEffect: Restart, FlinkOption: "table.optimizer.agg-phase-strategy",
			Label: Text{"Two-stage aggregation", "两阶段聚合"},
			Help: Text{"First counts under a salted key on all subtasks, then adds the partial counts up under the key itself.",
				"先用加盐的键在所有子任务上做部分计数，再按原来的键把部分结果合并。"},
		}, func(s *task.Settings) *bool { return &s.TwoStage }),
		boolKnob(Knob{
			Name: "measureLatency", Group: "load", TakesEffect: Now,
			Label: Text{"Measure latency", "测量延迟"},
			Help: Text{"Stamps each record with the time of its emission, 8 bytes more on the wire. Flink samples latency with markers instead.",
				"给每条记录打上发出时间，网络上多 8 个字节。Flink 则用 latency marker 抽样。"},
		}, func(s *task.Settings) *bool { return &s.MeasureLatency }),
		longKnob(Knob{
			Name: "seed", Group: "load", Min: 0, Max: maxExact, TakesEffect: Restart,
			Label: Text{"Seed", "随机种子"},
			Help: Text{"Start of the generator's random numbers: the same seed makes the same records.",
				"生成器随机数的起点：种子相同，记录就相同。"},
		}, func(s *task.Settings) *int64 { return &s.Seed }),
	}
}
