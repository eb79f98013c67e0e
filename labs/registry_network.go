package labs

import "weir/engine/task"

func networkKnobs() []Knob {
	return []Knob{
		enumKnob(Knob{
			Name: "transport", Group: "network", Values: []string{"tcp", "memory"}, TakesEffect: Restart,
			Label: Text{"Transport", "传输方式"},
			Help: Text{"What joins task managers: a TCP connection for each ordered pair, or a queue in memory with the same frames.",
				"TaskManager 之间的连接：每个有序对一条 TCP 连接，或者传同样帧的内存队列。"},
		}, func(s *task.Settings) *string { return &s.Transport }),
		enumKnob(Knob{
			Name: "flowControl", Group: "network", Values: []string{"credit", "tcp"}, TakesEffect: Restart,
			Label: Text{"Flow control", "流量控制"},
			Help: Text{"credit: a sender sends what its channel has room for. tcp: it sends all it has, and the full socket stops every channel of the connection, as before Flink 1.5.",
				"credit：接收通道有几个位置就发几个。tcp：有多少发多少，socket 满了，连接上所有通道一起停，和 Flink 1.5 之前一样。"},
		}, func(s *task.Settings) *string { return &s.FlowControl }),
		longKnob(Knob{
			Name: "wireBytesPerSecond", Group: "network", Min: 0, Max: 10_000_000_000, Unit: "bytes/s", Scale: "log", TakesEffect: Now,
			Label: Text{"Wire speed", "线路速度"},
			Help: Text{"What each end of a connection may write per second. 0 is as fast as it goes.",
				"连接的每一端每秒最多能写多少字节。0 表示不限。"},
		}, func(s *task.Settings) *int64 { return &s.WireBytesPerSecond }),
		intKnob(Knob{
			Name: "bufferTimeoutMs", Group: "network", Min: -1, Max: 60_000, Unit: "ms", Scale: "log", TakesEffect: Now, FlinkOption: "execution.buffer-timeout.interval",
			Label: Text{"Buffer timeout", "缓冲超时"},
			Help: Text{"How often half-full buffers are released to be sent. 0 flushes after each record, -1 sends only full buffers.",
				"多久放行一次没写满的 buffer。0 表示每条记录后都刷出，-1 表示只发写满的 buffer。"},
		}, func(s *task.Settings) *int { return &s.BufferTimeoutMs }),
		boolKnob(Knob{
			Name: "debloat", Group: "network", TakesEffect: Now, FlinkOption: "taskmanager.network.memory.buffer-debloat.enabled",
			Label: Text{"Buffer debloating", "缓冲消胀"},
			Help: Text{"Fits the bytes put into each buffer to what the receiver consumes within the target time. The number of buffers stays.",
				"按接收端在目标时间内能消费的量，调整每个 buffer 装入的字节数。buffer 的个数不变。"},
		}, func(s *task.Settings) *bool { return &s.Debloat }),
		intKnob(Knob{
			Name: "debloatTargetMs", Group: "network", Min: 1, Max: 600_000, Unit: "ms", Scale: "log", TakesEffect: Now, FlinkOption: "taskmanager.network.memory.buffer-debloat.target",
			Label: Text{"Debloat target", "消胀目标"},
			Help: Text{"How long it may take to consume all that is in flight towards one gate.",
				"消费完流向一个 gate 的全部在途数据所允许的时间。"},
		}, func(s *task.Settings) *int { return &s.DebloatTargetMs }),
		intKnob(Knob{
			Name: "debloatPeriodMs", Group: "network", Min: 1, Max: 600_000, Unit: "ms", Scale: "log", TakesEffect: Now, FlinkOption: "taskmanager.network.memory.buffer-debloat.period",
			Label: Text{"Debloat period", "消胀周期"},
			Help: Text{"Time between two calculations of the buffer size.",
				"两次计算 buffer 大小之间的间隔。"},
		}, func(s *task.Settings) *int { return &s.DebloatPeriodMs }),
		intKnob(Knob{
			Name: "debloatThresholdPercent", Group: "network", Min: 0, Max: 100, Unit: "%", TakesEffect: Now, FlinkOption: "taskmanager.network.memory.buffer-debloat.threshold-percentages",
			Label: Text{"Debloat threshold", "消胀阈值"},
			Help: Text{"A new size is announced only when it differs from the last by at least this much.",
				"新的大小与上一次相差至少这么多，才会通告上游。"},
		}, func(s *task.Settings) *int { return &s.DebloatThresholdPercent }),
		intKnob(Knob{
			Name: "exclusiveBuffers", Group: "network", Min: 0, Max: 1000, Unit: "buffers", TakesEffect: Restart, ConstantInFlink: true, FlinkOption: "taskmanager.network.memory.buffers-per-channel",
			Label: Text{"Exclusive buffers", "独占 buffer"},
			Help: Text{"Buffers that belong to each remote channel alone, and its first credit.",
				"每条远程通道独占的 buffer 数，也就是它的初始 credit。"},
		}, func(s *task.Settings) *int { return &s.ExclusiveBuffers }),
		intKnob(Knob{
			Name: "floatingBuffers", Group: "network", Min: 0, Max: 1000, Unit: "buffers", TakesEffect: Restart, ConstantInFlink: true, FlinkOption: "taskmanager.network.memory.floating-buffers-per-gate",
			Label: Text{"Floating buffers", "浮动 buffer"},
			Help: Text{"Buffers that the channels of one gate borrow from, by the backlog that each reports.",
				"一个 gate 的各通道按各自报告的积压量借用的 buffer 数。"},
		}, func(s *task.Settings) *int { return &s.FloatingBuffers }),
		intKnob(Knob{
			Name: "maxBuffersPerSubpartition", Group: "network", Min: 1, Max: 10_000, Unit: "buffers", TakesEffect: Restart, ConstantInFlink: true, FlinkOption: "taskmanager.network.memory.max-buffers-per-channel",
			Label: Text{"Buffers per subpartition", "每个子分区的 buffer 上限"},
			Help: Text{"When one subpartition holds this many, the whole producer pauses.",
				"某个子分区占用到这么多时，整个生产者暂停。"},
		}, func(s *task.Settings) *int { return &s.MaxBuffersPerSubpartition }),
		intKnob(Knob{
			Name: "overdraftBuffers", Group: "network", Min: 0, Max: 10_000, Unit: "buffers", TakesEffect: Restart, ConstantInFlink: true, FlinkOption: "taskmanager.network.memory.max-overdraft-buffers-per-gate",
			Label: Text{"Overdraft buffers", "透支 buffer"},
			Help: Text{"Buffers beyond its pool that a task may take to finish the record it is writing, instead of blocking inside it.",
				"任务为写完手头这条记录而可以超出缓冲池借用的 buffer 数，免得卡在记录中间。"},
		}, func(s *task.Settings) *int { return &s.OverdraftBuffers }),
		intKnob(Knob{
			Name: "segmentBytes", Group: "network", Min: 256, Max: 1 << 20, Unit: "bytes", Scale: "log", TakesEffect: Restart, FlinkOption: "taskmanager.memory.segment-size",
			Label: Text{"Segment size", "内存段大小"},
			Help: Text{"Size of one buffer's memory. Debloating fills less of it, but never more.",
				"一个 buffer 的内存大小。消胀只会少装，不会多装。"},
		}, func(s *task.Settings) *int { return &s.SegmentBytes }),
		longKnob(Knob{
			Name: "networkMemoryBytes", Group: "network", Min: 1 << 20, Max: 1 << 30, Unit: "bytes", Scale: "log", TakesEffect: Restart, FlinkOption: "taskmanager.memory.network.max",
			Label: Text{"Network memory", "网络内存"},
			Help: Text{"Network memory of each task manager, cut into segments once.",
				"每个 TaskManager 的网络内存，一次性切成内存段。"},
		}, func(s *task.Settings) *int64 { return &s.NetworkMemoryBytes }),
	}
}
