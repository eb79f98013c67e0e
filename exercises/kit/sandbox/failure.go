package sandbox

import (
	"fmt"
	"regexp"
	"strings"

	"weir/labs"
)

// Kind is how a core ended.
type Kind string

// The ways in which a core ends.
const (
	Panicked    Kind = "panic"
	Exited      Kind = "exit"
	OutOfMemory Kind = "memory"
	Recursed    Kind = "recursion"
	Deadlocked  Kind = "deadlock"
	TooSlow     Kind = "deadline"
	OpenedFile  Kind = "file"
	TooMuch     Kind = "answer" // an answer above mostFrame
	Stopped     Kind = "stopped"
	Stalled     Kind = "stalled" // the machine's fault
)

// Failure is how a core came to its end in the sandbox. No more is called of it until Core.Reset.
type Failure struct {
	Kind   Kind   `json:"kind"`
	Detail string `json:"detail,omitempty"` // the panic's words, the file's name, the exit status
	Line   string `json:"line,omitempty"`   // such as core.go:31
}

func (f *Failure) Error() string { return f.Text().En }

// Text says it to a learner.
func (f *Failure) Text() labs.Text {
	en, zh := "", ""
	if f.Line != "" {
		en, zh = " at "+f.Line, "（位于 "+f.Line+"）"
	}
	switch f.Kind {
	case Panicked:
		return labs.Text{En: "The core panicked" + en + ": " + f.Detail, Zh: "核心发生了 panic" + zh + "：" + f.Detail}
	case Exited:
		return labs.Text{
			En: "The core ended itself with exit status " + f.Detail + "; a core answers its calls and goes on.",
			Zh: "核心以退出码 " + f.Detail + " 结束了自己；核心应当回答调用并继续运行。",
		}
	case OutOfMemory:
		return labs.Text{
			En: fmt.Sprintf("The core took more memory than the %d MiB that it has%s.", memoryPages>>4, en),
			Zh: fmt.Sprintf("核心使用的内存超过了允许的 %d MiB%s。", memoryPages>>4, zh),
		}
	case Recursed:
		return labs.Text{En: "The core called itself without end" + en + ".", Zh: "核心无休止地调用自己" + zh + "。"}
	case Deadlocked:
		return labs.Text{
			En: "The core waits for something that never comes (a channel or a lock)" + en + ".",
			Zh: "核心在等待永远不会到来的东西（通道或锁）" + zh + "。",
		}
	case TooSlow:
		return labs.Text{
			En: fmt.Sprintf("The core did not answer within %v: a loop that does not end, or a long sleep?", callCPU),
			Zh: fmt.Sprintf("核心在 %v 内没有回答：是否有不会结束的循环？", callCPU),
		}
	case OpenedFile:
		return labs.Text{
			En: "The core tried to open the file " + f.Detail + "; in the sandbox there are no files, and none is needed.",
			Zh: "核心试图打开文件 " + f.Detail + "；沙箱里没有文件，也不需要文件。",
		}
	case TooMuch:
		return labs.Text{
			En: fmt.Sprintf("The core answered with more than %d MiB.", mostFrame>>20),
			Zh: fmt.Sprintf("核心的回答超过了 %d MiB。", mostFrame>>20),
		}
	case Stalled:
		return labs.Text{En: "This machine was too busy to run the core.", Zh: "这台机器太忙，无法运行核心。"}
	}
	return labs.Text{En: "The core stopped: " + f.Detail, Zh: "核心停止了：" + f.Detail}
}

// Advice says what to try.
func (f *Failure) Advice() labs.Text {
	switch f.Kind {
	case Panicked:
		return labs.Text{
			En: "Look at that line: which call, with which numbers, leads there? An index, a nil map or pointer, a division by zero?",
			Zh: "看看那一行：是哪次调用、哪些数值走到了那里？是下标、空 map 或空指针，还是除以零？",
		}
	case Exited, OpenedFile:
		return labs.Text{En: "Take that call out of core.go.", Zh: "把这个调用从 core.go 中去掉。"}
	case OutOfMemory:
		return labs.Text{
			En: "Something grows with every call, or asks for a huge slice at once, or calls itself without end: what can be given up?",
			Zh: "某个东西随每次调用增长，或一次申请了巨大的切片，或无休止地调用自己：哪些可以释放？",
		}
	case Recursed, TooSlow:
		return labs.Text{
			En: "Find the loop or the recursion, and what should end it; a wait for something is none of a core's business.",
			Zh: "找到那个循环或递归，以及应当结束它的条件；等待不是核心的事。",
		}
	case Deadlocked:
		return labs.Text{En: "A core needs no goroutine, channel or lock: it is called by one at a time.", Zh: "核心不需要 goroutine、通道或锁：同一时刻只有一个调用。"}
	case TooMuch:
		return labs.Text{En: "Answer with what was asked for alone.", Zh: "只回答所问的内容。"}
	case Stalled:
		return labs.Text{En: "Try again when less is running on this machine.", Zh: "等这台机器上运行的程序少一些再试。"}
	}
	return labs.Text{En: "Try again; if it stays, begin from the starter.", Zh: "再试一次；如果仍然如此，请从起始文件重新开始。"}
}

var coreLine = regexp.MustCompile(`\bcore\.go:\d+`)

// failureOf reads what the runtime of Go printed when the core ended.
func failureOf(err error, exit int, exited bool, printed string) *Failure {
	f := &Failure{Line: coreLine.FindString(printed)}
	first := func(prefix string) (string, bool) {
		for line := range strings.Lines(printed) {
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				return shortened(strings.TrimSpace(rest), 300), true
			}
		}
		return "", false
	}
	words, panicked := first("panic: ")
	fatal, _ := first("fatal error: ")
	switch {
	case strings.Contains(fatal, "out of memory") || strings.Contains(fatal, "cannot allocate") || strings.Contains(printed, "cannot allocate memory"):
		f.Kind = OutOfMemory
	case strings.Contains(fatal, "stack overflow") || err != nil && strings.Contains(err.Error(), "stack overflow"):
		f.Kind = Recursed
	case strings.Contains(fatal, "deadlock") || strings.Contains(fatal, "asleep"):
		f.Kind = Deadlocked
	case panicked && (!exited || exit == 2):
		f.Kind, f.Detail = Panicked, words
	case fatal != "" && (!exited || exit == 2):
		f.Kind, f.Detail = Panicked, fatal
	case exited:
		f.Kind, f.Detail, f.Line = Exited, fmt.Sprint(exit), ""
	default:
		f.Kind, f.Detail = Stopped, shortened(strings.SplitN(err.Error(), "\n", 2)[0], 300)
	}
	return f
}

func shortened(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
