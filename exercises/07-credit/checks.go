package credit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"weir/engine/job"
	"weir/engine/network"
	"weir/exercises/calls"
	"weir/exercises/history"
	"weir/exercises/kit"
	"weir/exercises/netjob"
	"weir/labs"
)

var scripts = []string{"sender", "floating", "arrive", "recycle", "surplus"}

var checks = []kit.Def{
	{ID: "sender", Points: 3, Run: script(senderScript, "your sender; in Flink, CreditBasedSequenceNumberingViewReader", "你的 sender；对应 Flink 的 CreditBasedSequenceNumberingViewReader",
		"A data buffer takes a free buffer at the other end, so it costs a credit and needs one. An event takes none.", "数据 buffer 要占对端一个空闲 buffer，所以需要并花掉一个 credit；事件不占。"),
		Name: labs.Text{En: "The sender: data for credit, events at any time", Zh: "发送端：数据要 credit，事件随时可走"}},
	{ID: "floating", Points: 3, Run: script(floatingScript, "Backlog and WantsFloating; in Flink, BufferManager.requestFloatingBuffers", "Backlog 与 WantsFloating；对应 Flink 的 BufferManager.requestFloatingBuffers",
		"Required is the backlog and the channel's own number of exclusive buffers, whether these are free or not. Compare it with what is free.", "需要的数目是积压加上独占 buffer 的总数（不论是否空闲）；拿它与空闲的数目比较。"),
		Name: labs.Text{En: "Floating buffers by the backlog", Zh: "按积压申请浮动 buffer"}},
	{ID: "arrive", Points: 2, Run: script(arriveScript, "Arrived; in Flink, BufferManager.requestBuffer", "Arrived；对应 Flink 的 BufferManager.requestBuffer",
		"A floating buffer goes back to all channels when it was read, an exclusive one only to this channel. Which one should be used up first? And the sender has one buffer fewer now.", "浮动 buffer 读完归所有通道，独占的只归本通道。应该先用哪种？另外，发送端此刻少了一个 buffer。"),
		Name: labs.Text{En: "A buffer arrives", Zh: "收到一个 buffer"}},
	{ID: "recycle", Points: 2, Run: script(recycleScript, "Recycled and Credit; in Flink, BufferManager.recycle and RemoteInputChannel.notifyBufferAvailable", "Recycled 与 Credit；对应 Flink 的 BufferManager.recycle 与 RemoteInputChannel.notifyBufferAvailable",
		"Each free buffer is a credit. If one is free again, who tells the sender?", "每个空闲 buffer 就是一个 credit。它重新空闲了，谁来告诉发送端？"),
		Name: labs.Text{En: "An exclusive buffer comes back", Zh: "独占 buffer 归还"}},
	{ID: "surplus", Points: 2, Run: script(surplusScript, "Recycled; in Flink, BufferManager.recycle, AvailableBufferQueue.addExclusiveBuffer", "Recycled；对应 Flink 的 BufferManager.recycle 与 AvailableBufferQueue.addExclusiveBuffer",
		"Count what is free after the return. Above what is required a floating buffer goes in its stead: the sum stays, and the sender knows of the sum.", "数一数归还之后的空闲数。超过所需时，换一个浮动 buffer 还给池：总数不变，而发送端知道的正是总数。"),
		Name: labs.Text{En: "More than required: a floating buffer goes back", Zh: "多于所需：还一个浮动 buffer"}},
	{ID: "random", Points: 4, Seeds: 10, Needs: scripts, Run: random, Name: labs.Text{En: "Random histories of both ends, inside Weir's own", Zh: "两端的随机历史，装在 Weir 自己的实现里"}},
	{ID: "edges", Points: 1, Hidden: true, Needs: scripts, Run: edges, Name: labs.Text{En: "A channel without exclusive buffers, and two channels side by side", Zh: "没有独占 buffer 的通道，以及并存的两条通道"}},
	{ID: "job", Points: 4, Needs: append([]string{"random"}, scripts...), Run: inJob, Name: labs.Text{En: "A running job: every record arrives once", Zh: "运行中的作业：每条记录到达一次"}},
}

const senderScript = `
NewSender(2)
MaySend(data) = true
Sent(data)
MaySend(data) = true
Sent(data)
MaySend(data) = false
MaySend(event) = true   # nothing has to be free for it
Sent(event)
AddCredit(1)
MaySend(data) = true    # the event took no credit
Sent(data)
MaySend(data) = false

NewSender(1)
AddCredit(3)            # what is announced comes on top
Sent(data)
Sent(data)
Sent(event)
Sent(data)
MaySend(data) = true
Sent(data)
MaySend(data) = false
`

const floatingScript = `
NewReceiver(2)
WantsFloating() = false # nobody waits
Credit() = 0            # the sender knows of the two
Backlog(1)              # 1 + 2 are required, 2 are free
WantsFloating() = true
GotFloating()
WantsFloating() = false
Credit() = 1
Credit() = 0
Backlog(3)
WantsFloating() = true
GotFloating()
GotFloating()
WantsFloating() = false
Credit() = 2
Backlog(0)
WantsFloating() = false

NewReceiver(4)
Backlog(2)
WantsFloating() = true
GotFloating()
WantsFloating() = true
`

const arriveScript = `
NewReceiver(2)
Backlog(1)
GotFloating()
Arrived() = Floating
WantsFloating() = false # 2 are required now, 2 are free
Arrived() = Exclusive
WantsFloating() = false
Arrived() = Exclusive
Arrived() = None

NewReceiver(1)
Backlog(4)
GotFloating()
GotFloating()
Arrived() = Floating
Arrived() = Floating
Arrived() = Exclusive
WantsFloating() = true  # 5 were required, 2 are now
`

const recycleScript = `
NewReceiver(2)
Arrived() = Exclusive
Arrived() = Exclusive
Credit() = 0
Recycled() = false
Credit() = 1
Arrived() = Exclusive
Recycled() = false
Recycled() = false
Credit() = 2
`

const surplusScript = `
NewReceiver(2)
Backlog(2)
GotFloating()
GotFloating()
Credit() = 2
Arrived() = Floating
Arrived() = Floating
Arrived() = Exclusive
Backlog(1)              # 3 are required, 1 is free
GotFloating()
GotFloating()
Credit() = 2
Recycled() = true       # 4 would be free
Credit() = 0
WantsFloating() = false

NewReceiver(1)
Backlog(3)
GotFloating()
GotFloating()
GotFloating()
Arrived() = Floating
Arrived() = Floating
Arrived() = Floating
Arrived() = Exclusive
Backlog(0)
Recycled() = false      # no floating one is free
Credit() = 4
`

// ends takes the calls of a script.
type ends struct {
	core kit.Core
	s    sender
	r    receiver
}

// Do implements calls.Subject.
func (e *ends) Do(c calls.Call) string {
	event := len(c.Args) > 0 && c.Args[0] == "event"
	switch c.Name {
	case "NewSender":
		e.s = newSender(e.core, c.Int(0))
	case "NewReceiver":
		e.r = newReceiver(e.core, c.Int(0))
	case "AddCredit":
		e.s.AddCredit(c.Int(0))
	case "MaySend":
		return strconv.FormatBool(e.s.MaySend(event))
	case "Sent":
		e.s.Sent(event)
	case "Backlog":
		e.r.Backlog(c.Int(0))
	case "WantsFloating":
		return strconv.FormatBool(e.r.WantsFloating())
	case "GotFloating":
		e.r.GotFloating()
	case "Arrived":
		return [...]string{"None", "Exclusive", "Floating"}[e.r.Arrived()]
	case "Recycled":
		return strconv.FormatBool(e.r.Recycled())
	case "Credit":
		return strconv.Itoa(e.r.Credit())
	}
	return ""
}

func script(text, where, whereZh, try, tryZh string) func(context.Context, *kit.Work, uint64) *kit.Finding {
	return calls.Script(text, func(w *kit.Work) calls.Subject { return &ends{core: w.Core} },
		calls.Where{Where: labs.Text{En: where, Zh: whereZh}, Try: labs.Text{En: try, Zh: tryZh}})
}

// random plays a history on each of Weir's own two ends, with its own numbers and with the learner's.
func random(ctx context.Context, w *kit.Work, seed uint64) *kit.Finding {
	rnd := rand.New(rand.NewPCG(seed, 7))
	if f := randomSender(ctx, w, rnd); f != nil {
		return f
	}
	exclusive, floating := 1+rnd.IntN(3), 1+rnd.IntN(8)
	steps := make([]calls.Call, 150)
	for i := range steps {
		switch n := rnd.IntN(100); {
		case n < 20:
			steps[i] = calls.New("Backlog", rnd.IntN(floating+3))
		case n < 50:
			steps[i] = calls.New("Arrive")
		case n < 65:
			steps[i] = calls.New("Recycle", "exclusive")
		case n < 80:
			steps[i] = calls.New("Recycle", "floating")
		case n < 85:
			steps[i] = calls.New("OtherChannelTakes")
		case n < 90:
			steps[i] = calls.New("OtherChannelReturns")
		default:
			steps[i] = calls.New("AddCreditIsWritten")
		}
	}
	return calls.Against(ctx, w, steps,
		func() (calls.Subject, error) { return newReceiverSide(exclusive, floating, nil) },
		func() (calls.Subject, error) {
			return newReceiverSide(exclusive, floating, newReceiver(w.Core, exclusive))
		},
		calls.Where{Where: labs.Text{En: fmt.Sprintf("your receiver with %d exclusive buffers, in a gate with %d floating ones", exclusive, floating), Zh: fmt.Sprintf("你的 receiver：%d 个独占 buffer，所在 gate 有 %d 个浮动 buffer", exclusive, floating)},
			Try: labs.Text{En: "Recycle and Arrive are the task's and the connection's; behind each of them the gate asks WantsFloating and Credit. Keep the four numbers beside each step.", Zh: "Recycle 来自任务，Arrive 来自连接；每一步之后 gate 会问 WantsFloating 与 Credit。每步旁边记下那四个数。"}})
}

func randomSender(ctx context.Context, w *kit.Work, rnd *rand.Rand) *kit.Finding {
	credit := rnd.IntN(4) + 1
	steps := make([]calls.Call, 100)
	for i := range steps {
		switch n := rnd.IntN(100); {
		case n < 35:
			steps[i] = calls.New("QueueData")
		case n < 45:
			steps[i] = calls.New("QueueEvent")
		case n < 65:
			steps[i] = calls.New("AddCredit", 1+rnd.IntN(3))
		default:
			steps[i] = calls.New("Write", 1+rnd.IntN(4))
		}
	}
	return calls.Against(ctx, w, steps,
		func() (calls.Subject, error) { return newSenderSide(credit, nil) },
		func() (calls.Subject, error) { return newSenderSide(credit, newSender(w.Core, credit)) },
		calls.Where{Where: labs.Text{En: fmt.Sprintf("your sender with an initial credit of %d; Write(n) is room in the connection for n messages", credit), Zh: fmt.Sprintf("你的 sender，初始 credit %d；Write(n) 表示连接可写 n 条消息", credit)},
			Try: labs.Text{En: "Count the credit beside each step: what comes on top, what a data buffer takes.", Zh: "每步旁边记下 credit：加了多少，数据 buffer 用了多少。"}})
}

// receiverSide is Weir's receiving end; with the learner's numbers or its own.
type receiverSide struct{ m *network.ReceiverModel }

func newReceiverSide(exclusive, floating int, core network.CreditReceiver) (calls.Subject, error) {
	m, err := network.NewReceiverModel(exclusive, floating, core)
	return receiverSide{m}, err
}

// Do implements calls.Subject.
func (r receiverSide) Do(c calls.Call) string {
	done := "done"
	ok := true
	switch c.Name {
	case "Backlog":
		r.m.Backlog(c.Int(0))
	case "Arrive":
		if e, f, _, _ := r.m.State(); e+f == 0 {
			ok = false // a right sender sends none then
		} else {
			ok = r.m.Arrive()
			if !ok {
				done = "no buffer found"
			}
		}
	case "Recycle":
		ok = r.m.Recycle(len(c.Args) > 0 && c.Args[0] == "floating")
	case "OtherChannelTakes":
		ok = r.m.OtherTakes()
	case "OtherChannelReturns":
		ok = r.m.OtherReturns()
	case "AddCreditIsWritten":
		done = fmt.Sprintf("credit %d told", r.m.Take())
	}
	if !ok && done == "done" {
		done = "nothing to do"
	}
	exclusive, floating, pool, credit := r.m.State()
	return fmt.Sprintf("%s: free %d exclusive and %d floating, %d in the pool, unannounced credit %d", done, exclusive, floating, pool, credit)
}

// senderSide is Weir's sending end.
type senderSide struct{ m *network.SenderModel }

func newSenderSide(credit int, core network.CreditSender) (calls.Subject, error) {
	m, err := network.NewSenderModel(credit, core)
	return senderSide{m}, err
}

// Do implements calls.Subject.
func (s senderSide) Do(c calls.Call) string {
	switch c.Name {
	case "QueueData":
		s.m.Data()
	case "QueueEvent":
		s.m.Event()
	case "AddCredit":
		s.m.Credit(c.Int(0))
	case "Write":
		return s.m.Send(c.Int(0))
	}
	return ""
}

// inJob lets the learner's numbers rule all remote channels of a job.
func inJob(ctx context.Context, w *kit.Work, _ uint64) *kit.Finding {
	r, err := netjob.Run(ctx, w, func(core kit.Core) job.Cores {
		return job.Cores{Network: network.Cores{
			Receiver: func(exclusive int) network.CreditReceiver { return newReceiver(core, exclusive) },
			Sender:   func(credit int) network.CreditSender { return newSender(core, credit) },
		}}
	})
	if err != nil {
		return history.Broken(err)
	}
	return r.Finding(labs.Text{En: "the numbers of both ends of the channels above; the lab credit shows them moving", Zh: "上面各通道两端的数字；credit 实验里能看到它们的变化"},
		labs.Text{En: "Free buffers at the receiver that the sender has no credit for were never told. More credit than free buffers was told twice.", Zh: "接收端空闲而发送端没有对应的 credit：漏通知；credit 多于空闲 buffer：重复通知。"})
}
