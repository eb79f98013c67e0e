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

	"weir/exercises/kit/sandbox"
)

func main() {
	sandbox.RunChild() // does not return in a process that runs a learner's core
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second Ctrl-C ends the process at once
	}()
	os.Exit(execute(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
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
