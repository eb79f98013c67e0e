package labs

import (
	"fmt"
	"strings"

	"weir/engine/task"
)

func rescaleEvidence() []EvidenceDef {
	return []EvidenceDef{
		{"own-groups", Text{"Every subtask holds keys of its own groups only", "每个子任务只保存自己键组里的键"}, judgeInRange},
		{"handed-over", Text{"After a change of parallelism each key is found by its new owner", "修改并行度后，每个键都由新的拥有者接手"}, judgeHandedOver},
		{"ids-go-on", Text{"Checkpoint ids go on after the change", "修改之后检查点编号继续递增"}, judgeIDs},
		{"by-files", Text{"On lsm whole files change hands, and no key is copied by itself", "在 lsm 上整个文件易手，没有逐键复制"}, judgeFiles},
	}
}

func judgeIDs(o *observed) verdict {
	if !o.rescaled || o.s.RestoredCheckpointID == 0 {
		return verdict{reading: say("evidence.rescale")}
	}
	for i := range o.s.Checkpoints {
		if c := &o.s.Checkpoints[i]; c.Status == "COMPLETED" && c.ID != o.s.RestoredCheckpointID {
			return verdict{true, c.ID > o.s.RestoredCheckpointID, say("evidence.ids", o.s.RestoredCheckpointID, c.ID)}
		} else if c.ID == o.s.RestoredCheckpointID {
			break
		}
	}
	return verdict{reading: say("evidence.noCheckpoint")}
}

func judgeFiles(o *observed) verdict {
	if !o.rescaled {
		return verdict{reading: say("evidence.rescale")}
	}
	if o.v.String("backend") != task.LSM {
		return verdict{reading: say("evidence.needsLSM")}
	}
	var paths []string
	byFiles := true
	subtasks := o.subtasksOf("count")
	for i := range subtasks {
		st := subtasks[i].State
		if st == nil || st.Restored == nil {
			return verdict{reading: say("evidence.settling")}
		}
		if st.Restored.Path == "read" {
			return verdict{reading: say("evidence.rescaleAgain")} // it came from another backend
		}
		for _, h := range st.Restored.Handles {
			byFiles = byFiles && h.How != "copied"
		}
		paths = append(paths, fmt.Sprintf("%d %s", subtasks[i].Index, st.Restore))
	}
	if len(paths) == 0 {
		return verdict{reading: say("evidence.settling")}
	}
	return verdict{true, byFiles, say("evidence.paths", strings.Join(paths, " · "))}
}
