package announce

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"

	"weir/engine/job"
	"weir/engine/network"
	"weir/exercises/calls"
	"weir/exercises/history"
	"weir/exercises/kit"
	"weir/exercises/netjob"
	"weir/labs"
)

var (
	whereFreed = labs.Text{En: "Freed; in Flink, RemoteInputChannel.notifyBufferAvailable", Zh: "Freed；对应 Flink 的 RemoteInputChannel.notifyBufferAvailable"}
	whereTake  = labs.Text{En: "Take; in Flink, RemoteInputChannel.getAndResetUnannouncedCredit", Zh: "Take；对应 Flink 的 RemoteInputChannel.getAndResetUnannouncedCredit"}
	scripts    = []string{"first", "quiet", "sum", "again", "empty"}
)

var checks = []kit.Def{
	{ID: "first", Points: 2, Name: labs.Text{En: "The step from 0 announces, however many came", Zh: "从 0 起的那一步要通知，不论一次来几个"},
		Run: script("Freed(1) = true\n\nFreed(3) = true\n\nFreed(2) = true\n",
			whereFreed, "Write down the count before and after the call. Which of the two decides?", "写下调用前与调用后的计数：由哪一个决定？")},
	{ID: "quiet", Points: 2, Name: labs.Text{En: "One message in the line is enough", Zh: "队列里有一条消息就够了"},
		Run: script("Freed(1) = true\nFreed(1) = false\nFreed(4) = false\n",
			whereFreed, "A message that waits already takes along what comes until it is written. What would a second one carry?", "已在排队的消息会带上写出之前到来的全部 credit；第二条消息还能带什么？")},
	{ID: "sum", Points: 2, Name: labs.Text{En: "The message carries all that came until it is written", Zh: "消息带上写出之前到来的全部 credit"},
		Run: script("Freed(1) = true\nFreed(1)\nFreed(4)\nTake() = 6\n\nFreed(2) = true\nTake() = 2\n\nFreed(1)\nFreed(1)\nTake() = 2\nTake() = 0\n",
			whereTake, "Add up what Freed was told since the last Take. Not one buffer may be missing: nobody would ever tell of it.", "把上次 Take 之后 Freed 得到的数加起来。一个 buffer 都不能少：以后不会再有人通知它。")},
	{ID: "again", Points: 1, Name: labs.Text{En: "After the message it begins at 0", Zh: "消息写出之后重新从 0 开始"},
		Run: script("Freed(3) = true\nTake() = 3\nFreed(1) = true\nFreed(1) = false\nTake() = 2\nFreed(2) = true\nTake() = 2\n",
			whereTake, "What the sender was told is not unannounced any more.", "已经告诉发送端的就不再是未通告的。")},
	{ID: "empty", Points: 1, Hidden: true, Name: labs.Text{En: "Nothing new, nothing to announce", Zh: "没有新增就没有通知"},
		Run: script("Freed(0) = false\nFreed(2) = true\nFreed(0) = false\nTake() = 2\nFreed(0) = false\nTake() = 0\n",
			whereFreed, "Freed(0) comes when a floating buffer was refused. A message would carry nothing.", "没拿到浮动 buffer 时会有 Freed(0)；这时的消息什么也带不了。")},
	{ID: "random", Points: 3, Seeds: 10, Needs: scripts, Run: random, Name: labs.Text{En: "Random histories against Weir's own channel", Zh: "随机历史，与 Weir 自己的通道比较"}},
	{ID: "job", Points: 4, Needs: append([]string{"random"}, scripts...), Run: inJob, Name: labs.Text{En: "A running job: every record arrives, no message is empty", Zh: "运行中的作业：记录全部到达，没有空消息"}},
}

// announcer takes the calls of a script, for a learner's or the engine's.
type announcer struct{ network.Announcer }

// Do implements calls.Subject.
func (a announcer) Do(c calls.Call) string {
	if c.Name == "Take" {
		return strconv.Itoa(a.Take())
	}
	return strconv.FormatBool(a.Freed(c.Int(0)))
}

func script(text string, where labs.Text, try, zh string) func(context.Context, *kit.Work, uint64) *kit.Finding {
	return calls.Script(text, func(w *kit.Work) calls.Subject { return announcer{begin(w.Core)} }, calls.Where{Where: where, Try: labs.Text{En: try, Zh: zh}})
}

// random mixes returns of buffers with messages that are written: sometimes at once, sometimes much later.
func random(ctx context.Context, w *kit.Work, seed uint64) *kit.Finding {
	rnd := rand.New(rand.NewPCG(seed, 6))
	var steps []calls.Call
	for range 200 {
		if rnd.IntN(4) == 0 {
			steps = append(steps, calls.New("Take"))
		} else {
			steps = append(steps, calls.New("Freed", rnd.IntN(4)))
		}
	}
	return calls.Against(ctx, w, steps,
		func() (calls.Subject, error) { return announcer{network.AnnouncerModel()}, nil },
		func() (calls.Subject, error) { return announcer{begin(w.Core)}, nil },
		calls.Where{Where: whereFreed, Try: labs.Text{En: "Play the calls by hand, with one number beside each: what the sender does not know of yet.", Zh: "手推这几次调用，每步旁边写一个数：发送端还不知道的 credit。"}})
}

// counter counts what a job's announcers decided.
type counter struct {
	*proxy
	messages, empty, freed, carried *atomic.Int64
}

// Freed implements network.Announcer.
func (c counter) Freed(n int) bool {
	c.freed.Add(int64(n))
	announce := c.proxy.Freed(n)
	if announce {
		c.messages.Add(1)
	}
	return announce
}

// Take implements network.Announcer.
func (c counter) Take() int {
	n := c.proxy.Take()
	c.carried.Add(int64(n))
	if n == 0 {
		c.empty.Add(1)
	}
	return n
}

// inJob lets the learner's rule announce for all remote channels of a job.
func inJob(ctx context.Context, w *kit.Work, _ uint64) *kit.Finding {
	var messages, empty, freed, carried atomic.Int64
	r, err := netjob.Run(ctx, w, func(core kit.Core) job.Cores {
		return job.Cores{Network: network.Cores{Announcer: func() network.Announcer {
			return counter{begin(core), &messages, &empty, &freed, &carried}
		}}}
	})
	if err != nil {
		return history.Broken(err)
	}
	f := r.Finding(labs.Text{En: "credit and free buffers of the channels above; the lab credit shows them moving", Zh: "上面各通道的 credit 与空闲 buffer；credit 实验里能看到它们的变化"},
		labs.Text{En: "A channel with free buffers and a sender without credit, and no message in the line: which call should have put one there?", Zh: "接收端有空闲 buffer、发送端没有 credit、队列里又没有消息：本该由哪次调用放进一条？"})
	if f != nil {
		return f
	}
	if n := empty.Load(); n > 0 || messages.Load() == 0 {
		return &kit.Finding{
			Expected: labs.Text{En: "each message in the line carries credit when it is written", Zh: "排队的每条消息写出时都带有 credit"},
			Seen:     labs.Text{En: fmt.Sprintf("%d of %d messages had nothing to carry", n, messages.Load()), Zh: fmt.Sprintf("%d/%d 条消息什么也没带", n, messages.Load())},
			Where:    whereFreed, Try: labs.Text{En: "Announce once, and let the message take all.", Zh: "只通知一次，让这条消息带走全部。"}}
	}
	if over := carried.Load() - freed.Load(); over > 0 {
		return &kit.Finding{
			Expected: labs.Text{En: fmt.Sprintf("the messages carry at most the %d credits that came up", freed.Load()), Zh: fmt.Sprintf("消息带走的 credit 不超过产生的 %d 个", freed.Load())},
			Seen:     labs.Text{En: fmt.Sprintf("%d more", over), Zh: fmt.Sprintf("多了 %d 个", over)}, Where: whereTake,
			Try: labs.Text{En: "A credit is told once.", Zh: "一个 credit 只通知一次。"}}
	}
	return nil
}
