package labs

import (
	"weir/engine/metric"
	"weir/engine/network"
)

func creditEvidence() []EvidenceDef {
	return []EvidenceDef{
		{"out-of-credit", Text{"The slow channel has data to send and no credit", "慢通道有数据要发，却没有 credit"}, judgeOutOfCredit},
		{"books-balance", Text{"Credits given = buffers sent + credit left", "给出的 credit = 已发送的 buffer + 剩余的 credit"}, judgeBooks},
		{"one-a-buffer", Text{"For a slow consumer each AddCredit carries about one credit", "消费者慢时，每条 AddCredit 大约只带一个 credit"}, judgeOneABuffer},
		{"events-pass", Text{"A barrier passes without credit", "barrier 不需要 credit 也能通过"}, judgeEventsPass},
		{"neighbour-free", Text{"The fast channel gets all it wants over the same connection", "同一连接上的快通道想发多少就能发多少"}, judgeNeighbourFree},
		{"neighbour-stalls", Text{"Without credit the slow channel stalls its neighbour", "没有 credit 时，慢通道会拖住邻居"}, judgeNeighbourStalls},
		{"backlog-announced", Text{"Without exclusive buffers the sender announces its backlog first", "没有独占 buffer 时，发送端先通告积压"}, judgeBacklogAnnounced},
	}
}

// slowChannel is the channel to the subtask that works.
func (o *observed) slowChannel() *metric.Channel {
	for i := range o.s.Channels {
		if c := &o.s.Channels[i]; c.Kind == "remote" && c.To.Vertex == "slow-map" && c.To.Subtask == 0 {
			return c
		}
	}
	return nil
}

// credited tells whether the slow channel is under flow control by credit, with more to send than is taken.
func (o *observed) credited() (*metric.Channel, Message) {
	c := o.slowChannel()
	switch {
	case o.v.String("flowControl") == "tcp":
		return nil, say("evidence.needsCredit")
	case c == nil || c.Consumer == nil || o.s.State != "RUNNING" || o.settledMs < 0:
		return nil, say("evidence.settling")
	case o.v.Float("workMs") <= 0:
		return nil, say("evidence.noWork")
	}
	if rate := o.v.Float("rate"); rate != 0 && rate/2 < 1200/o.v.Float("workMs") {
		return nil, say("evidence.lightLoad", round(rate/2), round(1000/o.v.Float("workMs")))
	}
	return c, Message{}
}

func judgeOutOfCredit(o *observed) verdict {
	c, why := o.credited()
	if c == nil {
		return verdict{reading: why}
	}
	return verdict{true, c.Producer.Credit == 0 && c.Producer.Backlog > 0, say("evidence.credit", c.Producer.Credit, c.Producer.Backlog)}
}

func judgeBooks(o *observed) verdict {
	c, why := o.credited()
	if c == nil {
		return verdict{reading: why}
	}
	initial := int64(o.v.Int("exclusiveBuffers"))
	given, used := initial+c.AnnouncedCredit, c.SentBuffers+int64(c.Producer.Credit)
	// The ends are read one after the other, and an AddCredit may be on its way.
	off := given - used
	held := initial + int64(o.v.Int("floatingBuffers"))
	if initial == 0 {
		// Each checkpoint voids the credit that is left.
		return verdict{reading: say("evidence.needsExclusive")}
	}
	return verdict{true, off >= -held && off <= held, say("evidence.books", initial, c.AnnouncedCredit, c.SentBuffers, c.Producer.Credit)}
}

func judgeOneABuffer(o *observed) verdict {
	c, why := o.credited()
	if c == nil {
		return verdict{reading: why}
	}
	if c.SentAddCredit < 50 {
		return verdict{reading: say("evidence.fewMessages", c.SentAddCredit)}
	}
	ratio := float64(c.AnnouncedCredit) / float64(c.SentAddCredit)
	return verdict{true, ratio >= 1 && ratio <= 1.4, say("evidence.perMessage", c.SentAddCredit, c.AnnouncedCredit, ratio)}
}

func judgeEventsPass(o *observed) verdict {
	if c, why := o.credited(); c == nil {
		return verdict{reading: why}
	}
	for i := len(o.frames) - 1; i >= 0; i-- {
		f := &o.frames[i]
		if f.Kind == network.MsgBufferResponse && f.Type.IsEvent() && f.Consumer == "slow-map 0" && f.ProducerBefore.Credit == 0 {
			return verdict{true, true, say("evidence.eventPassed", f.Number, f.Type.String())}
		}
	}
	return verdict{reading: say("evidence.noEventYet")}
}

// neighbour is the rate of the fast subtask in a row.
func neighbour(r *Comparison) float64 {
	if r == nil || r.Seconds < 5 || len(r.SubtaskRecordsPerSecond) < 2 {
		return 0
	}
	return r.SubtaskRecordsPerSecond[1]
}

// flowRow finds the best-measured row of a kind of flow control.
func (o *observed) flowRow(kind string) *Comparison {
	var best *Comparison
	for i := range o.rows {
		if r := &o.rows[i]; r.Knobs["flowControl"] == kind && (best == nil || r.Seconds > best.Seconds) {
			best = r
		}
	}
	return best
}

func judgeNeighbourFree(o *observed) verdict {
	rate := neighbour(o.flowRow("credit"))
	if rate == 0 || o.v.Float("rate") == 0 {
		return verdict{reading: say("evidence.settling")}
	}
	wants := o.v.Float("rate") / 2
	return verdict{o.v.Int("wireBytesPerSecond") == 0, rate >= 0.9*wants, say("evidence.neighbour", round(rate), round(wants))}
}

func judgeNeighbourStalls(o *observed) verdict {
	with, without := neighbour(o.flowRow("credit")), neighbour(o.flowRow("tcp"))
	if with == 0 || without == 0 {
		return verdict{reading: say("evidence.bothFlows")}
	}
	return verdict{true, without < 0.2*with, say("evidence.neighbours", round(with), round(without))}
}

func judgeBacklogAnnounced(o *observed) verdict {
	if o.v.Int("exclusiveBuffers") > 0 || o.v.String("flowControl") == "tcp" {
		return verdict{reading: say("evidence.noExclusive")}
	}
	for i := len(o.frames) - 1; i >= 0; i-- {
		if f := &o.frames[i]; f.Kind == network.MsgBacklogAnnounce {
			return verdict{true, true, say("evidence.announced", f.Number, f.Backlog)}
		}
	}
	return verdict{reading: say("evidence.noneAnnounced")}
}
