package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"weir/labs"
)

func newBench(s streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "bench shuffle|state|checkpoint|rescale|sessions|viewers",
		Short: "Measures whole jobs on this machine",
		Example: "  labserver bench shuffle --records 60000000 --record-bytes 100\n" +
			"  labserver bench state --backend lsm --keys 1000000 --json\n" +
			"  labserver bench sessions --sessions 1,10,40",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("labserver bench needs what to measure: there are shuffle, state, checkpoint, rescale, sessions, viewers")
			}
			what := []string{"shuffle", "state", "checkpoint", "rescale", "sessions", "viewers"}
			if near := labs.Nearest(args[0], what); len(near) > 0 {
				return usage("no bench %q: did you mean labserver bench %s?", args[0], near[0])
			}
			return usage("no bench %q: there are %s", args[0], strings.Join(what, ", "))
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	c.AddCommand(newBenchShuffle(s), newBenchState(s), newBenchCheckpoint(s), newBenchRescale(s), newBenchSessions(s), newBenchViewers(s))
	return c
}

func newBenchShuffle(s streams) *cobra.Command {
	var o labs.ShuffleOptions
	asJSON := false
	c := &cobra.Command{
		Use:   "shuffle",
		Short: "Records a second through a keyed exchange, checked by a checksum per key",
		Args:  exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkShuffle(&o); err != nil {
				return err
			}
			r, err := labs.BenchShuffle(c.Context(), o)
			if errors.Is(err, context.Canceled) {
				return nil // cut short before there was a result
			}
			if err != nil {
				return fmt.Errorf("bench shuffle: %w", err)
			}
			if asJSON {
				return printJSON(s.out, r)
			}
			_, err = fmt.Fprintf(s.out, "%.2f M records/s   %.1f MB/s   %.0f buffers/s   %d records in %.2f s   %.4f allocations a record\n",
				r.RecordsPerSecond/1e6, r.BytesPerSecond/1e6, r.BuffersPerSecond, r.Records, r.Seconds, r.AllocationsPerRecord)
			return err
		},
	}
	f := c.Flags()
	f.Int64Var(&o.Records, "records", 20_000_000, "records to send")
	f.Int64Var(&o.Keys, "keys", 100_000, "different keys")
	f.IntVar(&o.RecordBytes, "record-bytes", 100, "characters in each payload")
	f.IntVar(&o.Parallelism, "parallelism", 2, "subtasks of source and sink")
	f.IntVar(&o.TaskManagers, "task-managers", 2, "task managers")
	f.IntVar(&o.BufferTimeoutMs, "buffer-timeout", 100, "ms; 0 flushes each record, -1 sends only full buffers")
	f.StringVar(&o.Transport, "transport", "tcp", "tcp or memory")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	completeWords(c, "transport", "tcp", "memory")
	return c
}

func checkShuffle(o *labs.ShuffleOptions) error {
	err := checkBounds([]bound{
		{"records", o.Records, 1, 1 << 50}, {"keys", o.Keys, 1, 1 << 27}, {"record-bytes", int64(o.RecordBytes), 0, 1 << 20},
		{"parallelism", int64(o.Parallelism), 1, 64}, {"task-managers", int64(o.TaskManagers), 1, 16}, {"buffer-timeout", int64(o.BufferTimeoutMs), -1, 60_000},
	})
	if err == nil && o.Transport != "tcp" && o.Transport != "memory" {
		err = usage("--transport: %q is not one of tcp, memory", o.Transport)
	}
	return err
}

// bound is what the number of a flag may be, both ends included.
type bound struct {
	flag      string
	value     int64
	low, high int64
}

func checkBounds(all []bound) error {
	for _, b := range all {
		if b.value < b.low || b.value > b.high {
			return usage("--%s: %d is not from %d to %d", b.flag, b.value, b.low, b.high)
		}
	}
	return nil
}
