package subpartition

import (
	"context"
	"fmt"
	"math/rand/v2"

	"weir/engine/job"
	"weir/engine/network"
	"weir/exercises/calls"
	"weir/exercises/history"
	"weir/exercises/kit"
	"weir/exercises/netjob"
	"weir/labs"
)

var scripts = []string{"flush", "notices", "events", "backlog", "barrier", "priority"}

var checks = []kit.Def{
	{ID: "flush", Points: 3, Run: script(flushScript, "Available, Flush and Poll; in Flink, PipelinedSubpartition.isDataAvailableUnsafe", "Available、Flush、Poll；对应 Flink 的 PipelinedSubpartition.isDataAvailableUnsafe",
		"Readable is what is finished, or what a flush was asked for. The flush is used up when the last buffer is read: what is written after it waits again.", "可读的是：写完的，或请求过刷出的。读到最后一个 buffer 时，这次刷出就用掉了：之后写的又要等。"),
		Name: labs.Text{En: "Readable: finished or flushed", Zh: "可读：写完了，或刷出过"}},
	{ID: "notices", Points: 3, Run: script(noticesScript, "what Add and Flush answer; in Flink, PipelinedSubpartition.shouldNotifyDataAvailable and flush", "Add 与 Flush 的返回值；对应 Flink 的 PipelinedSubpartition.shouldNotifyDataAvailable 与 flush",
		"The reader is told once, and then reads until there is nothing. Nobody tells it that a writer is done with the last buffer: who does, when the next one comes?", "读取端只需被告知一次，之后会一直读到没有为止。写入方写完最后一个 buffer 时没有人告诉它：下一个到来时由谁来说？"),
		Name: labs.Text{En: "The reader is told, once", Zh: "通知读取端，一次"}},
	{ID: "events", Points: 2, Run: script(eventsScript, "Available; in Flink, PipelinedSubpartition.getAvailabilityAndBacklog", "Available；对应 Flink 的 PipelinedSubpartition.getAvailabilityAndBacklog",
		"Without credit look at the head: an event may leave, a data buffer may not, and an event behind it may not either.", "没有 credit 时看队首：事件可走，数据不可走，排在数据后面的事件也不可走。"),
		Name: labs.Text{En: "Without credit only an event at the head", Zh: "没有 credit 时只有队首的事件可走"}},
	{ID: "backlog", Points: 2, Run: script(backlogScript, "Backlog; in Flink, PipelinedSubpartition.getBuffersInBacklogUnsafe", "Backlog；对应 Flink 的 PipelinedSubpartition.getBuffersInBacklogUnsafe",
		"The receiver takes a free buffer for each of the backlog. An event needs none, and a buffer that is still being written is not coming yet.", "接收端为每个积压的 buffer 准备一个空闲 buffer。事件不需要；还在写的也还不会来。"),
		Name: labs.Text{En: "The backlog counts data that may be read", Zh: "积压只数可读的数据"}},
	{ID: "barrier", Points: 2, Run: script(barrierScript, "Poll of a Barrier, and Resume; in Flink, PipelinedSubpartition.pollBuffer and resumeConsumption", "Poll 到 Barrier 时，以及 Resume；对应 Flink 的 PipelinedSubpartition.pollBuffer 与 resumeConsumption",
		"Behind an aligned barrier nothing is read, told or counted until Resume. What was added meanwhile is found then.", "读到对齐 barrier 之后，直到 Resume：不读、不通知、不计数。期间加入的到时再看。"),
		Name: labs.Text{En: "Blocked by an aligned barrier", Zh: "被对齐 barrier 阻塞"}},
	{ID: "priority", Points: 2, Run: script(priorityScript, "Add and Poll of a Priority event; in Flink, PrioritizedDeque", "Priority 事件的 Add 与 Poll；对应 Flink 的 PrioritizedDeque",
		"A priority event goes behind the other priority events, before all else, and passes a blocked queue.", "优先事件排在其他优先事件之后、其余一切之前，并能穿过被阻塞的队列。"),
		Name: labs.Text{En: "A priority event goes ahead", Zh: "优先事件走在前面"}},
	{ID: "random", Points: 4, Seeds: 10, Needs: scripts, Run: random, Name: labs.Text{En: "Random histories against Weir's own subpartition", Zh: "随机历史，与 Weir 自己的子分区比较"}},
	{ID: "edges", Points: 1, Hidden: true, Needs: scripts, Run: script(edgesScript, "Poll, Available and Backlog where a barrier, empty buffers and priority events meet; in Flink, PipelinedSubpartition.pollBuffer", "barrier、空 buffer 与优先事件相遇时的 Poll、Available、Backlog；对应 Flink 的 PipelinedSubpartition.pollBuffer",
		"Draw the queue after each call. Two barriers block twice; a priority event behind a barrier is still ahead of the data.", "每次调用之后画出队列。两个 barrier 阻塞两次；barrier 之后的优先事件仍走在数据前面。"),
		Name: labs.Text{En: "Barriers, empty buffers and priority events together", Zh: "barrier、空 buffer 与优先事件同时出现"}},
	{ID: "job", Points: 4, Needs: append([]string{"random"}, scripts...), Run: inJob, Name: labs.Text{En: "A running job with checkpoints: every record arrives once", Zh: "带检查点的运行中作业：每条记录到达一次"}},
}

const flushScript = `
Available(true) = false
Poll() = nothing
Add(0, Data) = false
Written(10, false)
Available(true) = false # neither finished nor flushed
Flush() = true
Available(true) = true
Poll() = {ID 0, Bytes 10, Backlog 0, Next None}
Available(true) = false
Poll() = nothing
Written(25, false)
Available(true) = false # the flush was for what was written then
Flush() = true
Poll() = {ID 0, Bytes 15, Backlog 0, Next None}
Written(30, true)
Available(true) = true
Poll() = {ID 0, Bytes 5, Gone, Backlog 0, Next None}
Poll() = nothing
Flush() = false

Add(0, Data)
Written(8, true)
Add(1, Data)            # the first is finished
Written(3, false)
Available(true) = true
Poll() = {ID 0, Bytes 8, Gone, Backlog 0, Next None}
Available(true) = false
Flush()
Poll() = {ID 1, Bytes 3, Backlog 0, Next None}

Add(0, Data)
Written(0, true)
Add(1, Data)
Written(0, true)
Add(2, Data)
Written(9, true)
Poll() = {ID 2, Bytes 9, Gone, Backlog 0, Next None}
`

const noticesScript = `
Add(0, Data) = false
Written(8, true)        # nobody is told
Add(1, Data) = true     # now the reader is
Written(8, true)
Add(2, Data) = false    # it reads until there is nothing
Written(8, true)
Add(3, Event) = false

Add(0, Event) = true

Add(0, Data) = false
Written(5, false)
Flush() = true
Flush() = false         # it knows

Add(0, Data) = false
Flush() = false         # there is nothing in it

Flush() = false

Add(0, Data) = false
Written(5, false)
Flush() = true
Poll() = {ID 0, Bytes 5, Backlog 0, Next None}
Flush() = false         # nothing new in it
Written(6, false)
Flush() = true
`

const eventsScript = `
Add(0, Event) = true
Available(false) = true
Available(true) = true
Poll() = {ID 0, Bytes 0, Gone, Backlog 0, Next None}
Available(false) = false

Add(0, Data)
Written(8, true)
Add(1, Event)
Available(true) = true
Available(false) = false # the event stands behind data
Poll() = {ID 0, Bytes 8, Gone, Backlog 0, Next Event}
Available(false) = true
`

const backlogScript = `
Add(0, Data)
Backlog() = 0           # its writer goes on
Written(9, false)
Flush()
Backlog() = 1
Written(10, true)
Add(1, Event)
Backlog() = 1
Add(2, Data)
Written(10, true)
Add(3, Data)
Written(1, false)
Flush()
Backlog() = 3
Poll() = {ID 0, Bytes 10, Gone, Backlog 2, Next Event}
Poll() = {ID 1, Bytes 0, Gone, Backlog 2, Next Data}
Poll() = {ID 2, Bytes 10, Gone, Backlog 1, Next Data}
Poll() = {ID 3, Bytes 1, Backlog 0, Next None}

Add(0, Data)
Written(5, true)
Add(1, Data)
Written(5, false)
Backlog() = 1
`

const barrierScript = `
Add(0, Data)
Written(4, true)
Add(1, Barrier)
Add(2, Data)
Written(6, true)
Poll() = {ID 0, Bytes 4, Gone, Backlog 0, Next Barrier}
Poll() = {ID 1, Bytes 0, Gone, Backlog 0, Next None}
Available(true) = false
Poll() = nothing
Add(3, Event) = false
Flush() = false
Available(false) = false
Backlog() = 0
Resume()
Available(true) = true
Backlog() = 1
Poll() = {ID 2, Bytes 6, Gone, Backlog 0, Next Event}
Poll() = {ID 3, Bytes 0, Gone, Backlog 0, Next None}

Add(0, Barrier) = true
Poll() = {ID 0, Bytes 0, Gone, Backlog 0, Next None}
Add(1, Data)
Written(6, false)
Resume()
Available(true) = false # not flushed

Add(0, Barrier) = true
Poll() = {ID 0, Bytes 0, Gone, Backlog 0, Next None}
Add(1, Data)
Written(6, false)
Flush() = false         # nothing could be read of it
Resume()
Available(true) = true
`

const priorityScript = `
Add(0, Data)
Written(4, true)
Add(1, Priority) = true
Add(2, Priority)
Available(false) = true
Poll() = {ID 1, Bytes 0, Gone, Backlog 0, Next Priority}
Poll() = {ID 2, Bytes 0, Gone, Backlog 0, Next Data}
Poll() = {ID 0, Bytes 4, Gone, Backlog 0, Next None}

Add(0, Barrier)
Poll() = {ID 0, Bytes 0, Gone, Backlog 0, Next None}
Add(1, Data)
Written(4, true)
Add(2, Priority) = true
Available(true) = true
Poll() = {ID 2, Bytes 0, Gone, Backlog 0, Next None}
Available(true) = false # the data stays behind the barrier
Resume()
Poll() = {ID 1, Bytes 4, Gone, Backlog 0, Next None}
`

func script(text, where, whereZh, try, tryZh string) func(context.Context, *kit.Work, uint64) *kit.Finding {
	return calls.Script(text, func(w *kit.Work) calls.Subject { return &queue{SubpartitionCore: begin(w.Core)} },
		calls.Where{Where: labs.Text{En: where, Zh: whereZh}, Try: labs.Text{En: try, Zh: tryZh}})
}

// random plays a history on both. All answers have to be the same but those about telling the reader: there it counts that
// the reader knows of what it can read, and is not told of what it knows.
func random(ctx context.Context, w *kit.Work, seed uint64) *kit.Finding {
	var broken error
	play := func(steps []calls.Call) *history.Difference {
		m, err := network.NewQueueModel()
		if err != nil {
			broken = err
			return nil
		}
		ours, theirs := &queue{SubpartitionCore: m, finishes: true}, &queue{SubpartitionCore: begin(w.Core), finishes: true}
		for i, c := range steps {
			knew := theirs.told
			want, got := ours.Do(c), theirs.Do(c)
			if c.Name == "Add" || c.Name == "Flush" {
				want, got = told(ours, theirs, knew)
			}
			for _, ask := range []calls.Call{calls.New("Available", true), calls.New("Available", false), calls.New("Backlog")} {
				if want != got || w.Core.Err() != nil {
					break
				}
				want, got = ours.Do(ask), theirs.Do(ask)
				if want != got {
					return &history.Difference{Step: i + 1, Call: ask.String(), Expected: want, Seen: got}
				}
			}
			if want != got {
				return &history.Difference{Step: i, Call: c.String(), Expected: want, Seen: got}
			}
		}
		return nil
	}
	f := history.Check(ctx, w, randomSteps(seed), play,
		labs.Text{En: "your subpartition; Write(n) is n bytes more in the newest data buffer, which Finish or the next Add finishes", Zh: "你的子分区；Write(n) 是给最新的数据 buffer 再写 n 字节，Finish 或下一次 Add 会把它写完"},
		labs.Text{En: "Draw the queue after each step, with what is written and what is read of each buffer.", Zh: "每步之后画出队列，标上每个 buffer 写了多少、读了多少。"})
	if broken != nil {
		return history.Broken(broken)
	}
	return f
}

// told compares whether the reader was told.
func told(ours, theirs *queue, knew bool) (want, got string) {
	got = fmt.Sprint(theirs.notified)
	want = got
	switch {
	case ours.notified && !theirs.notified && !knew:
		want = "true: the reader does not know"
	case theirs.notified && !ours.notified && knew:
		want = "false: the reader knows"
	case theirs.notified && !ours.Available(true):
		want = "false: there is nothing to read"
	}
	theirs.told = knew || theirs.notified
	return want, got
}

func randomSteps(seed uint64) []calls.Call {
	rnd := rand.New(rand.NewPCG(seed, 8))
	steps := make([]calls.Call, 150)
	for i := range steps {
		switch n := rnd.IntN(100); {
		case n < 15:
			steps[i] = calls.New("Add", "Data")
		case n < 35:
			steps[i] = calls.New("Write", 1+rnd.IntN(9))
		case n < 40:
			steps[i] = calls.New("Finish")
		case n < 52:
			steps[i] = calls.New("Flush")
		case n < 58:
			steps[i] = calls.New("Add", "Event")
		case n < 61:
			steps[i] = calls.New("Add", "Barrier")
		case n < 65:
			steps[i] = calls.New("Add", "Priority")
		case n < 72:
			steps[i] = calls.New("Resume")
		default:
			steps[i] = calls.New("Poll")
		}
	}
	return steps
}

// inJob lets the learner's subpartitions rule all producers of a job that makes checkpoints.
func inJob(ctx context.Context, w *kit.Work, _ uint64) *kit.Finding {
	r, err := netjob.Run(ctx, w, func(core kit.Core) job.Cores {
		return job.Cores{Network: network.Cores{Subpartition: func() network.SubpartitionCore { return begin(core) }}}
	})
	if err != nil {
		return history.Broken(err)
	}
	at := labs.Text{En: "the queues of the producers above; the lab buffer-timeout shows them", Zh: "上面各生产者的队列；buffer-timeout 实验里能看到"}
	if f := r.Finding(at, labs.Text{En: "Something may be read, and nobody told the reader; or what it read was not what stood there.", Zh: "有东西可读却没人告诉读取端；或者读到的不是队列里的东西。"}); f != nil {
		return f
	}
	if r.Completed == 0 && r.Failed > 0 {
		return &kit.Finding{Expected: labs.Text{En: "checkpoints complete: their barriers get through", Zh: "检查点能完成：barrier 能通过"},
			Seen:  labs.Text{En: fmt.Sprintf("none did, %d failed", r.Failed), Zh: fmt.Sprintf("没有完成的，失败 %d 个", r.Failed)},
			Where: at, Try: labs.Text{En: "A barrier is handed out like any event, and Resume goes on behind it.", Zh: "barrier 与其他事件一样交出，Resume 之后继续。"}}
	}
	return nil
}
