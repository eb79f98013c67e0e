package job_test

import (
	"testing"
	"testing/synctest"
	"time"

	"weir/engine/job"
	"weir/engine/network"
	"weir/engine/operator"
	"weir/engine/serde"
	"weir/engine/task"
)

// neighbours are two pipelines whose channels share one connection: only slow-map 0 works.
func neighbours() job.Graph {
	g := flagship()
	g.Vertices[0].TaskManager, g.Vertices[1].TaskManager = 1, 2
	g.Vertices[1].Operators[0].New = func() task.Operator { return operator.NewSlowSubtask(serde.Long, 0) }
	g.Edges[0].Exchange = job.Forward
	return g
}

// TestCreditBooks holds both ends of each channel against each other, and against the frames that went between them.
func TestCreditBooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := flagshipSettings()
		s.Transport = "memory"
		tap := network.NewFrameTap()
		tap.SetOn(true)
		j := start(t, neighbours(), s, job.Options{Frames: tap})
		eventsWithoutCredit := 0
		var seen int64
		for second := range 30 {
			time.Sleep(time.Second)
			synctest.Wait()
			snap := j.Snapshot()
			for _, c := range snap.Channels {
				if c.Kind != "remote" {
					t.Fatalf("channel %+v is not remote", c)
				}
				if left := int64(s.ExclusiveBuffers) + c.AnnouncedCredit - c.SentBuffers; left != int64(c.Producer.Credit) {
					t.Errorf("%d s, to slow-map %d: %d at first + %d announced - %d sent, but the sender has %d", second, c.To.Subtask, s.ExclusiveBuffers, c.AnnouncedCredit, c.SentBuffers, c.Producer.Credit)
				}
				if c.SentAddCredit > c.AnnouncedCredit {
					t.Errorf("%d messages for %d credits", c.SentAddCredit, c.AnnouncedCredit)
				}
			}
			for _, f := range tap.Frames() {
				if f.Number <= seen {
					continue
				}
				seen = f.Number
				if f.ReceivedNs < f.SentNs {
					t.Errorf("frame %d (%s) has not arrived", f.Number, f.Kind)
				}
				switch {
				case f.Kind == network.MsgBufferResponse && f.Type.IsEvent() && f.ProducerBefore.Credit == 0:
					eventsWithoutCredit++
				case f.Kind == network.MsgBufferResponse && f.Type.IsBuffer() && f.ProducerAfter.Credit != f.ProducerBefore.Credit-1:
					t.Errorf("frame %d: credit %d, then %d", f.Number, f.ProducerBefore.Credit, f.ProducerAfter.Credit)
				case f.Kind == network.MsgAddCredit && f.ProducerAfter.Credit != f.ProducerBefore.Credit+int(f.Credit):
					t.Errorf("frame %d: credit %d + %d makes %d", f.Number, f.ProducerBefore.Credit, f.Credit, f.ProducerAfter.Credit)
				}
			}
		}
		if eventsWithoutCredit == 0 {
			t.Error("no event passed with a credit of 0")
		}
		c := j.Snapshot().Channels[0]
		if r := float64(c.SentAddCredit) / float64(c.SentBuffers); r < 0.75 || r > 1.05 {
			t.Errorf("slow channel: %d messages for %d buffers, want about one each", c.SentAddCredit, c.SentBuffers)
		}
		j.Close()
	})
}

// TestPlainTCPStallsTheNeighbour compares the fast channel with and without credit.
func TestPlainTCPStallsTheNeighbour(t *testing.T) {
	rate := map[string]float64{}
	for _, flow := range []string{"credit", "tcp"} {
		synctest.Test(t, func(t *testing.T) {
			s := flagshipSettings()
			s.Transport, s.FlowControl = "memory", flow
			j := start(t, neighbours(), s, job.Options{})
			time.Sleep(5 * time.Second)
			before := j.Snapshot().Vertices[1].Subtasks[1].NumRecordsIn
			time.Sleep(20 * time.Second)
			rate[flow] = float64(j.Snapshot().Vertices[1].Subtasks[1].NumRecordsIn-before) / 20
			j.Close()
		})
	}
	if rate["credit"] < 9900 || rate["tcp"] >= 0.2*rate["credit"] {
		t.Errorf("the fast channel carries %.0f records/s with credit, %.0f without; want 10000 and less than a fifth", rate["credit"], rate["tcp"])
	}
}
