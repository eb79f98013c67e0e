package task

import (
	"time"

	"weir/engine/network"
	"weir/engine/trace"
)

// outputFlusher makes written records readable at every buffer timeout (Flink's RecordWriter.OutputFlusher). With a
// timeout of 0 the writer flushes after each record itself, with -1 nobody does.
type outputFlusher struct {
	partition *network.ResultPartition
	tracer    *trace.Tracer
	thread    string
	changes   chan time.Duration
	quit      chan struct{}
	done      chan struct{}
}

func startOutputFlusher(p *network.ResultPartition, timeoutMs int, tracer *trace.Tracer, thread string) *outputFlusher {
	f := &outputFlusher{partition: p, tracer: tracer, thread: thread, changes: make(chan time.Duration, 1), quit: make(chan struct{}), done: make(chan struct{})}
	go f.run(time.Duration(timeoutMs) * time.Millisecond)
	return f
}

func (f *outputFlusher) run(timeout time.Duration) {
	defer close(f.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		var expired <-chan time.Time
		if timeout > 0 {
			timer.Reset(timeout)
			expired = timer.C
		}
		select {
		case <-f.quit:
			return
		case timeout = <-f.changes:
		case <-expired:
			if f.tracer.On(trace.Flush) {
				f.tracer.Hit(trace.Flush, f.thread, trace.Int("subpartitions", f.partition.Subpartitions()))
			}
			f.partition.FlushAll()
		}
	}
}

// setTimeout changes the timeout of a running flusher.
func (f *outputFlusher) setTimeout(ms int) {
	d := time.Duration(ms) * time.Millisecond
	for {
		select {
		case f.changes <- d:
			return
		default:
		}
		select { // a change that was not taken yet is overtaken
		case <-f.changes:
		default:
		}
	}
}

func (f *outputFlusher) stop() {
	close(f.quit)
	<-f.done
}
