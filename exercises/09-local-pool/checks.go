package localpool

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"

	"weir/engine/job"
	"weir/engine/memory"
	"weir/exercises/calls"
	"weir/exercises/history"
	"weir/exercises/kit"
	"weir/exercises/netjob"
	"weir/labs"
	"weir/testdata/golden"
)

var scripts = []string{"ahead", "limit", "overdraft", "resize", "global"}

var checks = []kit.Def{
	{ID: "ahead", Points: 2, Run: script(aheadScript, "Start and Request; in Flink, LocalBufferPool.requestMemorySegment and checkAndUpdateAvailability", "Start 与 Request；对应 Flink 的 LocalBufferPool.requestMemorySegment 与 checkAndUpdateAvailability",
		"After each call that may have taken the last ready segment, fetch one more, as long as the size allows.", "凡是可能拿走最后一个就绪内存段的调用之后，只要大小允许就再取一个。"),
		Name: labs.Text{En: "One segment is fetched ahead", Zh: "总是提前取一个内存段"}},
	{ID: "limit", Points: 3, Run: script(limitScript, "State, and what is counted for each subpartition; in Flink, LocalBufferPool.shouldBeAvailable", "State 以及各子分区的计数；对应 Flink 的 LocalBufferPool.shouldBeAvailable",
		"One subpartition at its maximum is enough to be unavailable, but nobody is refused for it: the record that is being written must end.", "只要有一个子分区到达上限就不可用；但不因此拒绝任何人：正在写的那条记录总要写完。"),
		Name: labs.Text{En: "A subpartition at its maximum", Zh: "到达上限的子分区"}},
	{ID: "overdraft", Points: 3, Run: script(overdraftScript, "Request and Recycle; in Flink, LocalBufferPool.requestOverdraftMemorySegmentFromGlobal and recycle", "Request 与 Recycle；对应 Flink 的 LocalBufferPool.requestOverdraftMemorySegmentFromGlobal 与 recycle",
		"Overdraft is requested − size, at most the limit. It never counts as available, and what comes back goes to the global pool until requested is the size again.", "透支是 requested − size，不超过上限。它绝不算可用；归还的先还给全局池，直到 requested 回到 size。"),
		Name: labs.Text{En: "Overdraft: for a record that needs more, not for the next one", Zh: "透支：给写到一半的记录，不给下一条"}},
	{ID: "resize", Points: 2, Run: script(resizeScript, "SetSize; in Flink, LocalBufferPool.setNumBuffers", "SetSize；对应 Flink 的 LocalBufferPool.setNumBuffers",
		"Shrinking gives ready segments back at once and turns those that are out into overdraft; growing turns overdraft into ordinary ones before it fetches any.", "缩小时立即归还就绪的，在外的变成透支；放大时先把透支变回普通的，之后才去取新的。"),
		Name: labs.Text{En: "The size changes while segments are out", Zh: "内存段在外时改变大小"}},
	{ID: "global", Points: 1, Hidden: true, Run: script(globalScript, "GlobalAvailable; in Flink, LocalBufferPool.onGlobalPoolAvailable", "GlobalAvailable；对应 Flink 的 LocalBufferPool.onGlobalPoolAvailable",
		"A pool with nothing ready waits for this call. Nobody else will ask for it: the task waits to see the pool available.", "没有就绪内存段的池在等这个调用。没有别人会替它去要：任务正等着池变为可用。"),
		Name: labs.Text{En: "The global pool was empty, and is not any more", Zh: "全局池空过，现在又有了"}},
	{ID: "golden", Points: 3, Needs: scripts, Run: goldenCases, Name: labs.Text{En: "What real Flink answers: 25 histories of LocalBufferPool", Zh: "真实 Flink 的答案：LocalBufferPool 的 25 段历史"}},
	{ID: "random", Points: 3, Seeds: 10, Needs: scripts, Run: random, Name: labs.Text{En: "Random histories against Weir's own pool", Zh: "随机历史，与 Weir 自己的池比较"}},
	{ID: "job", Points: 3, Needs: append([]string{"random"}, scripts...), Run: inJob, Name: labs.Text{En: "A running job: every record arrives, within the limits", Zh: "运行中的作业：记录全部到达，且不越限"}},
}

const aheadScript = `
Start(10, 3, 10, 2, 9, 0) = available, requested 1, ready 1, at limit 0
Request(0) = granted; available, requested 2, ready 1, at limit 0
Request(1) = granted; available, requested 3, ready 1, at limit 0
Request(0) = granted; not available, requested 3, ready 0, at limit 0
Request(0) = refused; not available, requested 3, ready 0, at limit 0
Recycle(1) = available, requested 3, ready 1, at limit 0
Recycle(0) = available, requested 3, ready 2, at limit 0
Request(-1) = granted; available, requested 3, ready 1, at limit 0
`

const limitScript = `
Start(20, 10, 10, 3, 2, 0)
Request(0) = granted; available, requested 2, ready 1, at limit 0
Request(0) = granted; not available, requested 3, ready 1, at limit 1
Request(0) = granted; not available, requested 4, ready 1, at limit 1
Request(2) = granted; not available, requested 5, ready 1, at limit 1
Request(2) = granted; not available, requested 6, ready 1, at limit 2
Recycle(0) = not available, requested 6, ready 2, at limit 2
Recycle(0) = not available, requested 6, ready 3, at limit 1
Recycle(2) = available, requested 6, ready 4, at limit 0
`

const overdraftScript = `
Start(20, 2, 10, 1, 9, 2)
Request(0)
Request(0) = granted; not available, requested 2, ready 0, at limit 0
Request(0) = granted; not available, requested 3, ready 0, at limit 0
Request(0) = granted; not available, requested 4, ready 0, at limit 0
Request(0) = refused; not available, requested 4, ready 0, at limit 0
Recycle(0) = not available, requested 3, ready 0, at limit 0
Recycle(0) = not available, requested 2, ready 0, at limit 0
Recycle(0) = available, requested 2, ready 1, at limit 0
Request(0)
SetMaxOverdraft(0)
Request(0) = refused; not available, requested 2, ready 0, at limit 0
SetMaxOverdraft(1)
Request(0) = granted; not available, requested 3, ready 0, at limit 0
`

const resizeScript = `
Start(20, 5, 100, 1, 99, 2)
Request(0)
Request(0)
Request(0)
Request(0)
Request(0)
Request(0)
Request(0) = granted; not available, requested 7, ready 0, at limit 0
SetSize(6) = not available, requested 7, ready 0, at limit 0
SetSize(7) = not available, requested 7, ready 0, at limit 0
SetSize(8) = available, requested 8, ready 1, at limit 0
SetSize(5) = not available, requested 7, ready 0, at limit 0
Recycle(0) = not available, requested 6, ready 0, at limit 0
Recycle(0) = not available, requested 5, ready 0, at limit 0
Recycle(0) = available, requested 5, ready 1, at limit 0
Recycle(0) = available, requested 5, ready 2, at limit 0
SetSize(4) = available, requested 4, ready 1, at limit 0

Start(20, 2, 3, 1, 99, 0)
SetSize(5)
Request(0)
Request(0)
Request(0) = granted; not available, requested 3, ready 0, at limit 0
Request(0) = refused; not available, requested 3, ready 0, at limit 0
`

const globalScript = `
Start(3, 3, 3, 1, 99, 5)
OthersTake(2)
Request(0) = granted; not available, requested 1, ready 0, at limit 0
Request(0) = refused; not available, requested 1, ready 0, at limit 0
OthersReturn(1) = available, requested 2, ready 1, at limit 0
Request(0) = granted; not available, requested 2, ready 0, at limit 0
OthersReturn(1) = available, requested 3, ready 1, at limit 0
`

func script(text, where, whereZh, try, tryZh string) func(context.Context, *kit.Work, uint64) *kit.Finding {
	return calls.Script(text, func(w *kit.Work) calls.Subject { return &theirs{core: w.Core} },
		calls.Where{Where: labs.Text{En: where + ". Start names global, size, max, subpartitions, maximum of each, overdraft", Zh: whereZh + "。Start 的参数依次是：全局、size、max、子分区数、每个的上限、透支"},
			Try: labs.Text{En: try, Zh: tryZh}})
}

// goldenFile is local_buffer_pool.json.
type goldenFile struct {
	Cases []struct {
		Note          string `json:"note"`
		Total         int    `json:"total"`
		Max           int    `json:"max"`
		Subpartitions int    `json:"subpartitions"`
		MaxPerChannel int    `json:"maxBuffersPerChannel"`
		Overdraft     int    `json:"overdraft"`
		Steps         []struct {
			Op    []any `json:"op"`
			State []any `json:"state"`
		} `json:"steps"`
	} `json:"cases"`
}

// goldenCases replays what real Flink answered.
func goldenCases(_ context.Context, w *kit.Work, _ uint64) *kit.Finding {
	data, err := golden.Files.ReadFile("local_buffer_pool.json")
	var file goldenFile
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		return history.Broken(err)
	}
	for _, c := range file.Cases {
		t, channels := &theirs{core: w.Core}, map[string]int{}
		var done []string
		for _, s := range c.Steps {
			call, refused := goldenCall(s.Op, channels)
			if call.Name == "Start" {
				most := c.Max
				if most < 0 {
					most = memory.Unbounded
				}
				call = calls.New("Start", c.Total, s.State[4], most, c.Subpartitions, c.MaxPerChannel, c.Overdraft)
			}
			seen := t.Do(call)
			want := goldenState(s.State)
			if call.Name == "Request" {
				want = map[bool]string{false: "granted; ", true: "refused; "}[refused] + want
			}
			if seen == want && t.free != int(number(s.State[7])) {
				want += fmt.Sprintf("; %v free in the global pool", s.State[7])
				seen += fmt.Sprintf("; %d free in the global pool", t.free)
			}
			if seen != want {
				return goldenFinding(c.Note, call, want, seen, done)
			}
			done = append(done, call.String())
		}
	}
	return nil
}

func number(v any) float64 {
	f, _ := v.(float64)
	return f
}

// goldenCall is a step of the file as a call; a buffer is known by the channel that it was requested for.
func goldenCall(op []any, channels map[string]int) (c calls.Call, refused bool) {
	name, _ := op[0].(string)
	switch name {
	case "create":
		return calls.New("Start"), false
	case "request":
		sub := int(number(op[1]))
		if op[2] == nil {
			return calls.New("Request", sub), true
		}
		channels[fmt.Sprint(op[2])] = sub
		return calls.New("Request", sub), false
	case "recycle":
		return calls.New("Recycle", channels[fmt.Sprint(op[1])]), false
	case "setNumBuffers":
		return calls.New("SetSize", op[1]), false
	case "setMaxOverdraft":
		return calls.New("SetMaxOverdraft", op[1]), false
	case "othersTake":
		return calls.New("OthersTake", op[1]), false
	default:
		return calls.New("OthersReturn", op[1]), false
	}
}

func goldenState(s []any) string {
	return poolState{CoreState: memory.CoreState{Available: number(s[0]) == 1, Requested: int(number(s[2])), Ready: int(number(s[3])), AtLimit: int(number(s[6]))}}.String()
}

// shown is how many calls before a difference a golden finding lists.
const shown = 15

func goldenFinding(note string, c calls.Call, want, seen string, done []string) *kit.Finding {
	list := ""
	for _, d := range done[max(0, len(done)-shown):] {
		list += d + " "
	}
	return &kit.Finding{
		Expected: labs.Text{En: fmt.Sprintf("%s → %s, as Flink 2.3.0 answers (%s)", c, want, note), Zh: fmt.Sprintf("%s → %s，Flink 2.3.0 如此回答（%s）", c, want, note)},
		Seen:     labs.Text{En: fmt.Sprintf("%s → %s; the calls before: %s", c, seen, list), Zh: fmt.Sprintf("%s → %s；之前的调用：%s", c, seen, list)},
		Where:    labs.Text{En: "local_buffer_pool.json, recorded from LocalBufferPool", Zh: "local_buffer_pool.json，录自 LocalBufferPool"},
		Try:      labs.Text{En: "Play the case on paper with three numbers: size, requested, ready.", Zh: "在纸上推演这一段，记三个数：size、requested、ready。"},
	}
}

// random plays a history on both.
func random(ctx context.Context, w *kit.Work, seed uint64) *kit.Finding {
	rnd := rand.New(rand.NewPCG(seed, 9))
	subs, total := 1+rnd.IntN(3), 6+rnd.IntN(14)
	most := 2 + rnd.IntN(10)
	steps := []calls.Call{calls.New("Start", total, 1+rnd.IntN(most), most, subs, 2+rnd.IntN(4), rnd.IntN(4))}
	for range 150 {
		var c calls.Call
		switch n := rnd.IntN(100); {
		case n < 45:
			c = calls.New("Request", rnd.IntN(subs+1)-1)
		case n < 80:
			c = calls.New("Recycle", rnd.IntN(subs+1)-1)
		case n < 88:
			c = calls.New("SetSize", 1+rnd.IntN(most+2))
		case n < 91:
			c = calls.New("SetMaxOverdraft", rnd.IntN(5))
		case n < 96:
			c = calls.New("OthersTake", 1+rnd.IntN(total))
		default:
			c = calls.New("OthersReturn", 1+rnd.IntN(total))
		}
		steps = append(steps, c)
	}
	// A history that was made short may have lost its beginning.
	begun := func(s calls.Subject) calls.Subject {
		s.Do(steps[0])
		return s
	}
	return calls.Against(ctx, w, steps,
		func() (calls.Subject, error) { return begun(&ours{}), nil },
		func() (calls.Subject, error) { return begun(&theirs{core: w.Core}), nil },
		calls.Where{Where: labs.Text{En: "your pool, which begins with " + steps[0].String() + ": global, size, max, subpartitions, maximum of each, overdraft", Zh: "你的池，起点是 " + steps[0].String() + "：全局、size、max、子分区数、每个的上限、透支"},
			Try: labs.Text{En: "Play it on paper with three numbers: size, requested, ready. A refused Request changes nothing.", Zh: "在纸上推演，记三个数：size、requested、ready。被拒绝的 Request 什么也不改变。"}})
}

// reached is how far a job's pools went.
type reached struct {
	mu             sync.Mutex
	held, limit    int // most segments of a subpartition, and the number that stops a producer
	beyond, inSize int // most segments beyond a pool's size, and that size
}

// watched is a pool of a job.
type watched struct {
	*proxy
	r   *reached
	o   memory.CoreOptions
	out map[int]int
}

// Start implements memory.PoolCore.
func (p *watched) Start(o memory.CoreOptions, free int) {
	p.o = o
	p.proxy.Start(o, free)
}

// SetSize implements memory.PoolCore.
func (p *watched) SetSize(size, free int) {
	p.o.Size = min(size, p.o.Max)
	p.proxy.SetSize(size, free)
}

// Request implements memory.PoolCore.
func (p *watched) Request(subpartition, free int) bool {
	granted := p.proxy.Request(subpartition, free)
	if !granted {
		return false
	}
	p.out[subpartition]++
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	p.r.held, p.r.limit = max(p.r.held, p.out[subpartition]), p.o.MaxPerSubpartition
	if over := p.State().Requested - p.o.Size; over > p.r.beyond {
		p.r.beyond, p.r.inSize = over, p.o.Size
	}
	return true
}

// Recycle implements memory.PoolCore.
func (p *watched) Recycle(subpartition int) {
	p.out[subpartition]--
	p.proxy.Recycle(subpartition)
}

// inJob lets the learner's pools serve all producers of a job. A record needs at most one more segment, which lies ready
// when a producer begins it only if the pool was available: so nobody gets above a limit, or needs overdraft.
func inJob(ctx context.Context, w *kit.Work, _ uint64) *kit.Finding {
	far := &reached{}
	r, err := netjob.Run(ctx, w, func(core kit.Core) job.Cores {
		return job.Cores{Pool: func() memory.PoolCore { return &watched{proxy: begin(core), r: far, out: map[int]int{}} }}
	})
	if err != nil {
		return history.Broken(err)
	}
	at := labs.Text{En: "the pools of the producers of the job; the lab overdraft shows such", Zh: "作业里各生产者的池；overdraft 实验里能看到"}
	if f := r.Finding(at, labs.Text{En: "A producer begins a record only while its pool is available. Which call should have made it so?", Zh: "池可用时生产者才会开始一条记录。本该由哪次调用让它变为可用？"}); f != nil {
		return f
	}
	far.mu.Lock()
	defer far.mu.Unlock()
	if far.held > far.limit {
		return &kit.Finding{
			Expected: labs.Text{En: fmt.Sprintf("a producer of small records stops when a subpartition holds %d segments", far.limit), Zh: fmt.Sprintf("某个子分区占到 %d 个内存段时，写小记录的生产者就停下", far.limit)},
			Seen:     labs.Text{En: fmt.Sprintf("one held %d", far.held), Zh: fmt.Sprintf("有一个占了 %d 个", far.held)}, Where: at,
			Try: labs.Text{En: "At the maximum the pool is not available.", Zh: "到达上限时池不可用。"}}
	}
	if far.beyond > 0 {
		return &kit.Finding{
			Expected: labs.Text{En: fmt.Sprintf("records that need one segment find it ready: nothing beyond the size of %d", far.inSize), Zh: fmt.Sprintf("只需一个内存段的记录总能拿到就绪的：不会超出大小 %d", far.inSize)},
			Seen:     labs.Text{En: fmt.Sprintf("%d beyond it", far.beyond), Zh: fmt.Sprintf("超出了 %d 个", far.beyond)}, Where: at,
			Try: labs.Text{En: "The producer began a record though nothing was ready: what did Available say, and why?", Zh: "没有就绪的内存段，生产者却开始了一条记录：Available 当时说了什么，为什么？"}}
	}
	return nil
}
