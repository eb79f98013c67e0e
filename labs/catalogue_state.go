package labs

// stateSentences are those of the labs of keyed state.
var stateSentences = map[string]Text{
	"evidence.ids":          {"Restored from checkpoint %[1]d; the newest is %[2]d.", "从检查点 %[1]d 恢复；最新的是 %[2]d。"},
	"evidence.needsLSM":     {"Choose the backend lsm.", "请选择 lsm 后端。"},
	"evidence.rescaleAgain": {"The state came from another backend: change the parallelism once more.", "状态来自另一种后端：请再改一次并行度。"},
	"evidence.paths":        {"Subtask %[1]s.", "子任务 %[1]s。"},
}
