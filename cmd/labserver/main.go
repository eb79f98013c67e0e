// Command labserver serves the labs, and runs their jobs without a page. Each verb has a file of its own.
//
// Exit status: 0 for a result, also one cut short by Ctrl-C; 1 for a failed run; 2 for wrong usage. An error is one line
// on standard error, and standard output holds only the result.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"weir/exercises/kit/sandbox"
)

func main() {
	sandbox.RunChild() // does not return in a process that runs a learner's core
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	go letGo(ctx, stop)
	os.Exit(execute(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// letGo has a second Ctrl-C end the process at once, but none of the same breath as the first: timeout(1) and the like send
// one signal to the process and to its group, and the result so far would be lost.
func letGo(ctx context.Context, stop func()) {
	<-ctx.Done()
	time.Sleep(time.Second)
	stop()
}

// streams are what a command reads and writes.
type streams struct {
	in  io.Reader
	out io.Writer
	err io.Writer
}

// execute runs a command line and returns its exit status.
func execute(ctx context.Context, args []string, s streams) int {
	root := newRoot(s)
	root.SetArgs(shieldKeys(args))
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	return report(root.ExecuteContext(ctx), s.err)
}
