package labs

import "maps"

// catalogue has the sentences that carry figures, in both languages. Figures are named by place (%[1]d), since the two
// languages put them in different orders.
var catalogue = func() map[string]Text {
	all := maps.Clone(sentences)
	maps.Copy(all, networkSentences)
	maps.Copy(all, stateSentences)
	maps.Copy(all, eventTimeSentences)
	maps.Copy(all, valueSentences)
	return all
}()

// sentences are those of the diagnosis, of checkpoints, and of the labs backpressure and key-groups.
var sentences = map[string]Text{
	"diagnosis.notRunning": {"The job is %[1]s; there is nothing to diagnose.", "作业状态为 %[1]s，没有可诊断的内容。"},
	"diagnosis.free":       {"No vertex is back-pressured and none is out of time.", "没有顶点被反压，也没有顶点忙到极限。"},
	"diagnosis.unclear": {"%[1]s is back-pressured for %[2]d ms/s, yet no vertex behind it is busy: look at the exchange between them.",
		"%[1]s 每秒有 %[2]d 毫秒被反压，但它后面没有忙碌的顶点：请查看两者之间的数据交换。"},
	"diagnosis.cause": {"%[1]s %[2]d is busy for %[3]d ms/s and back-pressured for %[4]d: nothing holds it up, it is the limit. %[5]s waits for it, back-pressured for %[6]d ms/s.",
		"%[1]s %[2]d 每秒忙 %[3]d 毫秒，被反压 %[4]d 毫秒：没有什么挡着它，它就是瓶颈。%[5]s 在等它，每秒被反压 %[6]d 毫秒。"},
	"diagnosis.saturated": {"%[1]s %[2]d is busy for %[3]d ms/s and nothing before it is back-pressured: it sets the pace itself.",
		"%[1]s %[2]d 每秒忙 %[3]d 毫秒，它前面没有被反压的顶点：速度由它自己决定。"},
	"advice.skew": {"%[1]s %[2]d is busy for %[3]d ms/s, the mean of its subtasks is %[4]d: spread the keys (more keys, a salted key in two stages) before adding subtasks.",
		"%[1]s %[2]d 每秒忙 %[3]d 毫秒，而各子任务平均为 %[4]d：先把键打散（更多的键，或加盐的两阶段聚合），再考虑增加子任务。"},
	"advice.cpu": {"%[1]s burns CPU on each record: make the work cheaper, or raise the parallelism while cores are free.",
		"%[1]s 对每条记录都消耗 CPU：降低计算量，或在还有空闲核时提高并行度。"},
	"advice.wait": {"%[1]s waits on each record without using the CPU: batch the calls or make them asynchronous, or raise the parallelism.",
		"%[1]s 每条记录都在等待而不占 CPU：把调用合并成批或改成异步，或者提高并行度。"},
	"advice.debloat": {"Checkpoint %[1]d took %[2]d ms because its barriers queue behind full buffers: debloating would keep about %[3]d ms of data in flight.",
		"检查点 %[1]d 用了 %[2]d 毫秒，因为 barrier 排在装满的 buffer 后面：打开消胀后，在途数据会保持在约 %[3]d 毫秒的量。"},
	"advice.network": {"Compare the pools: output pool full and input pool not full points at the wire, both full at a task further down.",
		"比较两端的缓冲池：输出池满而输入池不满，问题在网络；两端都满，问题在更下游的任务。"},

	"checkpoint.failed":  {"Checkpoint %[1]d failed: %[2]s", "检查点 %[1]d 失败：%[2]s"},
	"checkpoint.waiting": {"Checkpoint %[1]d waits for its first acknowledgement.", "检查点 %[1]d 还在等第一个确认。"},
	"checkpoint.quick": {"Checkpoint %[1]d took %[4]d ms at most, at %[2]s %[3]d: nothing to gain here.",
		"检查点 %[1]d 最长也只用了 %[4]d 毫秒（%[2]s %[3]d）：没有什么可优化的。"},
	"checkpoint.startDelay": {"Checkpoint %[1]d: at %[2]s %[3]d the first barrier took %[4]d ms to arrive, %[5]d %% of the time. It queued behind data: back-pressure.",
		"检查点 %[1]d：第一个 barrier 到达 %[2]s %[3]d 用了 %[4]d 毫秒，占 %[5]d %%。它排在数据后面：这是反压。"},
	"checkpoint.alignment": {"Checkpoint %[1]d: %[2]s %[3]d waited %[4]d ms from its first barrier to its last, %[5]d %% of the time. Some channels are slower or fuller than others: look for skew.",
		"检查点 %[1]d：%[2]s %[3]d 从第一个 barrier 等到最后一个用了 %[4]d 毫秒，占 %[5]d %%。有的通道更慢或积压更多：请检查数据倾斜。"},
	"checkpoint.sync": {"Checkpoint %[1]d: %[2]s %[3]d stood still for %[4]d ms, %[5]d %% of the time, in the synchronous phase: look at the access to state.",
		"检查点 %[1]d：%[2]s %[3]d 在同步阶段停了 %[4]d 毫秒，占 %[5]d %%：请检查状态访问。"},
	"checkpoint.async": {"Checkpoint %[1]d: %[2]s %[3]d wrote its state for %[4]d ms, %[5]d %% of the time, while records went on: look at the storage.",
		"检查点 %[1]d：%[2]s %[3]d 写出状态用了 %[4]d 毫秒，占 %[5]d %%，期间记录照常处理：请检查存储。"},

	"evidence.settling":        {"Readings count from 5 s after the start or a change.", "启动或改动 5 秒之后的读数才算数。"},
	"evidence.noWork":          {"Needs work on every record.", "需要每条记录都有工作量。"},
	"evidence.lightLoad":       {"The source sends %[1]d records/s, slow-map can do %[2]d: nothing presses.", "source 每秒发 %[1]d 条，slow-map 能处理 %[2]d 条：没有压力。"},
	"evidence.pressed":         {"Least pressed source subtask: %[1]d ms/s back-pressured.", "反压最轻的 source 子任务：每秒 %[1]d 毫秒。"},
	"evidence.busy":            {"Busiest slow-map subtask: %[1]d ms/s. Cause: %[2]s.", "最忙的 slow-map 子任务：每秒 %[1]d 毫秒。瓶颈：%[2]s。"},
	"evidence.pools":           {"Output pools %[1]d %% used, input pools %[2]d %%.", "输出池用了 %[1]d %%，输入池用了 %[2]d %%。"},
	"evidence.noCheckpoint":    {"No checkpoint has completed under these conditions yet.", "在这些条件下还没有完成的检查点。"},
	"evidence.barrier":         {"Checkpoint %[1]d: %[2]d of %[3]d ms went by waiting for barriers.", "检查点 %[1]d：%[3]d 毫秒中有 %[2]d 毫秒在等 barrier。"},
	"evidence.bothCheckpoints": {"Checkpoints seen with debloating off: %[1]d, on: %[2]d. Both are needed.", "看到的检查点：关闭消胀 %[1]d 次，打开 %[2]d 次。两者都需要。"},
	"evidence.shorter":         {"Median checkpoint with debloating off: %[1]d ms; the newest with it on: %[2]d ms.", "关闭消胀时检查点中位数 %[1]d 毫秒，打开后最新一次 %[2]d 毫秒。"},
	"evidence.bothWindows":     {"Counted for %[1]d s off and %[2]d s on; 5 s of each are needed.", "已统计：关闭 %[1]d 秒，打开 %[2]d 秒；各需要 5 秒。"},
	"evidence.rates":           {"%[1]d records/s off, %[2]d on.", "关闭时每秒 %[1]d 条，打开时每秒 %[2]d 条。"},
	"evidence.buffers":         {"%.1[1]f buffers/s off, %.1[2]f on.", "关闭时每秒 %.1[1]f 个 buffer，打开时每秒 %.1[2]f 个。"},
	"evidence.switchOn":        {"Switch debloating on.", "请打开消胀。"},
	"evidence.estimate":        {"Estimates of %[1]d to %[2]d ms against a target of %[3]d; buffers of %[4]d bytes.", "估计 %[1]d 到 %[2]d 毫秒，目标 %[3]d 毫秒；每个 buffer %[4]d 字节。"},

	"evidence.notKeyed":   {"No keyed state yet.", "还没有键控状态。"},
	"evidence.inRange":    {"%[1]d keys in state, %[2]d outside their subtask's groups.", "状态中有 %[1]d 个键，其中 %[2]d 个不属于所在子任务的键组。"},
	"evidence.noShared":   {"%[1]d keys seen, each in a group of its own so far.", "已见 %[1]d 个键，目前各在自己的组里。"},
	"evidence.shared":     {"Keys %[1]s and %[2]s share group %[3]d of %[4]d.", "键 %[1]s 和 %[2]s 同在 %[4]d 个组中的第 %[3]d 组。"},
	"evidence.fewKeys":    {"Needs few keys (8 a subtask at most) and 1,000 records.", "需要键很少（每个子任务不超过 8 个）且已有 1,000 条记录。"},
	"evidence.uneven":     {"The fullest subtask has %.2[1]f times the mean; records a subtask: %[2]s.", "最满的子任务是平均值的 %.2[1]f 倍；各子任务记录数：%[2]s。"},
	"evidence.rescale":    {"Change the parallelism while the job runs.", "请在作业运行时修改并行度。"},
	"evidence.handedOver": {"%[1]d keys restored, %[2]d outside their new range.", "恢复了 %[1]d 个键，其中 %[2]d 个不在新区间内。"},
	"evidence.notEnded":   {"The job has not come to the end of its input.", "作业还没有读完输入。"},
	"evidence.exact":      {"%[1]d records read, %[2]d counted.", "读入 %[1]d 条记录，计数 %[2]d 条。"},
}
