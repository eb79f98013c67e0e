package job

import (
	"fmt"
	"path/filepath"
	"slices"

	"weir/engine/checkpoint"
	"weir/engine/task"
)

// claim makes a checkpoint that the job is started from its own (Flink's claim mode): later checkpoints may refer to its
// files, and it is deleted when it is subsumed. Its shared files are named by the folder that it lies in, so that has to be
// the job's. Nothing on disk changes here.
func (j *Job) claim(c *checkpoint.Completed) error {
	s, ok := j.storage.(*checkpoint.FileStorage)
	if !ok {
		return fmt.Errorf("claim mode %s: checkpoints in memory end with their job", task.Claim)
	}
	mine, err := filepath.Abs(s.Dir())
	if err != nil {
		return err
	}
	its, err := filepath.Abs(filepath.Dir(c.Path))
	if err != nil {
		return err
	}
	if mine != its {
		return fmt.Errorf("claim mode %s: checkpoint %s does not lie in the job's checkpoint folder %s: choose its folder, or claim mode %s", task.Claim, c.Path, mine, task.NoClaim)
	}
	for _, v := range c.Vertices {
		for i := range v.Subtasks {
			state, err := c.State(v.ID, i)
			if err != nil {
				return err
			}
			if err := j.shared.registry.RegisterState(state, c.ID); err != nil {
				return err
			}
		}
	}
	s.Own(c.ID)
	j.past.Retained = []*checkpoint.Completed{c}
	return nil
}

// claims tells whether a planned restart claims the checkpoint that it stops with. The job goes on keeping and deleting it as
// any other: not to claim it only means that the next checkpoint stores everything anew, as after a start by hand.
func (j *Job) claims(p *plan) bool { return p.settings.ClaimMode == task.Claim && j.owns(p.from) }

// owns tells whether a checkpoint is the job's own, and not one that it was started from.
func (j *Job) owns(c *checkpoint.Completed) bool {
	return c != nil && slices.ContainsFunc(j.past.Retained, func(r *checkpoint.Completed) bool { return r.ID == c.ID })
}
