package labs

import (
	"testing"
	"time"

	"weir/engine/metric"
)

// toSlow and toFast are the two channels of the lab.
func creditChannels(t *testing.T, s *metric.Snapshot) (slow, fast metric.Channel) {
	t.Helper()
	if len(s.Channels) != 2 || s.Channels[0].Kind != "remote" || s.Channels[1].Kind != "remote" {
		t.Fatalf("channels %+v", s.Channels)
	}
	return s.Channels[0], s.Channels[1]
}

func TestCreditsOnTheWire(t *testing.T) {
	play(t, "credit", map[string]any{"workMs": 1.06}, func(p *played) {
		time.Sleep(10 * time.Millisecond)
		first := p.Frames(1000)
		if len(first) == 0 || first[0].Kind != "PartitionRequest" || first[0].Credit != 2 {
			t.Fatalf("the first frame is %+v", first[:min(1, len(first))])
		}
		time.Sleep(31 * time.Second)
		s := p.Snapshot()
		slow, fast := creditChannels(t, s)
		for _, c := range []metric.Channel{slow, fast} {
			// In fake time everything has arrived: the books are exact.
			if want := c.SentBuffers + int64(c.Producer.Credit) - 2; c.AnnouncedCredit != want {
				t.Errorf("to slow-map %d: announced %d, sent %d, credit left %d, 2 at first", c.To.Subtask, c.AnnouncedCredit, c.SentBuffers, c.Producer.Credit)
			}
			if c.SentAddCredit > c.AnnouncedCredit || c.SentAddCredit == 0 {
				t.Errorf("to slow-map %d: %d messages for %d credits", c.To.Subtask, c.SentAddCredit, c.AnnouncedCredit)
			}
		}
		if r := float64(slow.SentAddCredit) / float64(slow.SentBuffers); r < 0.75 || r > 1.05 {
			t.Errorf("%d messages for %d buffers, want about one each", slow.SentAddCredit, slow.SentBuffers)
		}
		if slow.SentEvents == 0 || slow.Producer.Credit != 0 {
			t.Errorf("%d events, credit %d", slow.SentEvents, slow.Producer.Credit)
		}
		passed := false
		for _, f := range p.Frames(1000) {
			if f.IsEvent && f.Consumer == "slow-map 0" && f.ProducerBefore.Credit == 0 && f.ProducerAfter.Credit == 0 {
				passed = true
			}
			if f.FromProducer && f.Type == "DATA_BUFFER" && f.ProducerBefore.Credit-1 != f.ProducerAfter.Credit {
				t.Errorf("frame %d: credit %d, then %d", f.Number, f.ProducerBefore.Credit, f.ProducerAfter.Credit)
			}
			if f.Kind == "AddCredit" && (f.ConsumerBefore.Unannounced < int(f.Credit) || f.ReceivedMs >= 0 && f.ProducerAfter.Credit-f.ProducerBefore.Credit != int(f.Credit)) {
				t.Errorf("frame %d: %+v", f.Number, f)
			}
		}
		if !passed {
			t.Error("no event passed with credit 0")
		}
		p.expectShown("out-of-credit", "books-balance", "one-a-buffer", "events-pass", "neighbour-free")

		p.set("flowControl", "tcp")
		time.Sleep(16 * time.Second)
		p.expectShown("neighbour-stalls")
		with, without := p.row("flowControl", "credit"), p.row("flowControl", "tcp")
		t.Logf("credit %v, tcp %v records/s", with.SubtaskRecordsPerSecond, without.SubtaskRecordsPerSecond)
		if without.SubtaskRecordsPerSecond[1] >= 0.2*with.SubtaskRecordsPerSecond[1] {
			t.Error("the neighbour keeps its rate without credit")
		}
		p.set("flowControl", "credit")
		p.set("exclusiveBuffers", 0)
		time.Sleep(12 * time.Second)
		p.expectShown("backlog-announced")
	})
}
