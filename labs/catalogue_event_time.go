package labs

// eventTimeSentences are those of the lab of event time. Times are in seconds of event time.
var eventTimeSentences = map[string]Text{
	"evidence.noWatermark": {"No watermark has come yet.", "还没有收到水位线。"},
	"evidence.leastWatermark": {"count %[1]d is at %.1[2]f s; of its %[3]d channels that take part the least is at %.1[4]f s, from %[5]s %[6]d.",
		"count %[1]d 到了 %.1[2]f 秒；参与的 %[3]d 条通道中最小的是 %.1[4]f 秒，来自 %[5]s %[6]d。"},
	"evidence.noWindow": {"No window has fired yet.", "还没有窗口触发。"},
	"evidence.fired": {"%[1]d results so far. The first open window is [%.1[2]f, %.1[3]f) s, and the watermark is at %.1[4]f s.",
		"至今 %[1]d 个结果。最早的打开窗口是 [%.1[2]f, %.1[3]f) 秒，水位线在 %.1[4]f 秒。"},
	"evidence.timers": {"%[1]d timers for %[2]d pairs of a key and an open window; the next ones are in the order of time, each in a group of its subtask.",
		"%[1]d 个定时器对应 %[2]d 对“键和打开的窗口”；最近的几个按时间排列，都在本子任务的键组里。"},
	"evidence.silence":        {"Let one input fall silent.", "请让一个输入沉默。"},
	"evidence.noIdleTimeout":  {"Needs an idle timeout of 0.", "需要把空闲超时设为 0。"},
	"evidence.setIdleTimeout": {"Set an idle timeout.", "请设置空闲超时。"},
	"evidence.heldBack": {"count %[1]d waits for %[2]s: %.1[3]f s behind its newest channel, %[4]d windows open.",
		"count %[1]d 在等 %[2]s：比最新的通道落后 %.1[3]f 秒，打开的窗口有 %[4]d 个。"},
	"evidence.goesOn": {"%[1]s is idle; count %[2]d is at %.1[3]f s, %.1[4]f s behind its newest channel.",
		"%[1]s 空闲；count %[2]d 到了 %.1[3]f 秒，比最新的通道落后 %.1[4]f 秒。"},
	"evidence.moreDisorder": {"Records come up to %[1]d ms late and watermarks wait %[2]d ms: allow less.", "记录最多晚 %[1]d 毫秒，水位线等 %[2]d 毫秒：请把容许值调小。"},
	"evidence.late":         {"%[1]d records dropped: they come up to %[2]d ms late, watermarks wait %[3]d ms.", "丢弃了 %[1]d 条记录：它们最多晚 %[2]d 毫秒，水位线只等 %[3]d 毫秒。"},
	"evidence.setRate":      {"Needs a rate.", "需要设置速率。"},
	"evidence.allCounted": {"%[1]d in windows that fired + %[2]d in open ones + %[3]d late; %[4]d sent, the rest is on its way.",
		"已触发的窗口 %[1]d + 打开的窗口 %[2]d + 迟到 %[3]d；共发送 %[4]d，其余还在途中。"},
	"evidence.timersMoved": {"%[1]d timers on %[2]d subtasks, %[3]d keys or timers outside their groups.", "%[2]d 个子任务上有 %[1]d 个定时器，其中不在自己键组里的键或定时器有 %[3]d 个。"},
}
