package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"weir/labs"
)

// stateFlags are what the benches of state have in common.
func stateFlags(c *cobra.Command, o *labs.StateOptions, asJSON *bool) {
	f := c.Flags()
	f.StringVar(&o.Backend, "backend", o.Backend, "hashmap or lsm")
	f.Int64Var(&o.Keys, "keys", o.Keys, "different keys")
	f.IntVar(&o.Parallelism, "parallelism", o.Parallelism, "subtasks of source and count")
	f.IntVar(&o.TaskManagers, "task-managers", 2, "task managers")
	f.IntVar(&o.BufferTimeoutMs, "buffer-timeout", 100, "ms; 0 flushes each record, -1 sends only full buffers")
	f.Int64Var(&o.MemoryBytes, "memory", o.MemoryBytes, "bytes for the lsm state of one task manager")
	f.StringVar(&o.Transport, "transport", "tcp", "tcp or memory")
	f.BoolVar(asJSON, "json", false, "print JSON")
	completeWords(c, "backend", "hashmap", "lsm")
	completeWords(c, "transport", "tcp", "memory")
}

// measured runs a bench and prints its result.
func measured[R any](s streams, c *cobra.Command, name string, o *labs.StateOptions, asJSON *bool, run func(context.Context, labs.StateOptions) (R, error), line func(R) string) error {
	if err := checkState(o); err != nil {
		return err
	}
	r, err := run(c.Context(), *o)
	if errors.Is(err, context.Canceled) {
		return nil // cut short before there was a result
	}
	if err != nil {
		return fmt.Errorf("bench %s: %w", name, err)
	}
	if *asJSON {
		return printJSON(s.out, r)
	}
	_, err = fmt.Fprintln(s.out, line(r))
	return err
}

func newBenchState(s streams) *cobra.Command {
	o := &labs.StateOptions{Backend: "hashmap", Keys: 100_000, Parallelism: 2, MemoryBytes: 128 << 20}
	asJSON := false
	c := &cobra.Command{
		Use: "state", Short: "Records a second counted by key in a state backend", Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return measured(s, c, "state", o, &asJSON, labs.BenchState, func(r labs.StateResult) string {
				return fmt.Sprintf("%s: %.2f M records/s   %d records in %.2f s   %d keys, %.1f MB of state", r.Backend, r.RecordsPerSecond/1e6, r.Records, r.Seconds, r.Keys, float64(r.StateBytes)/1e6)
			})
		},
	}
	stateFlags(c, o, &asJSON)
	c.Flags().Int64Var(&o.Records, "records", 10_000_000, "records to count")
	c.Flags().IntVar(&o.RecordBytes, "record-bytes", 8, "characters in each payload")
	return c
}

func newBenchCheckpoint(s streams) *cobra.Command {
	o := &labs.StateOptions{Backend: "hashmap", Keys: 200_000, Parallelism: 2, MemoryBytes: 256 << 20}
	asJSON := false
	c := &cobra.Command{
		Use: "checkpoint", Short: "Time of checkpoints of a large state, and whether the rate is kept meanwhile", Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return measured(s, c, "checkpoint", o, &asJSON, labs.BenchCheckpoint, func(r labs.CheckpointResult) string {
				kept := "kept"
				if !r.RateKept {
					kept = "not kept"
				}
				return fmt.Sprintf("%s: %.1f MB of state   checkpoints took %v ms (sync at most %.1f, async %.1f)   %.0f of %.0f records/s: %s",
					r.Backend, float64(r.StateBytes)/1e6, r.DurationsMs, r.SyncMs, r.AsyncMs, r.RecordsPerSecond, r.Offered, kept)
			})
		},
	}
	stateFlags(c, o, &asJSON)
	c.Flags().IntVar(&o.RecordBytes, "record-bytes", 1024, "characters of state beside the count of each key")
	c.Flags().Float64Var(&o.Rate, "rate", 100_000, "records/s")
	c.Flags().IntVar(&o.Checkpoints, "checkpoints", 5, "how many to take")
	return c
}

func newBenchRescale(s streams) *cobra.Command {
	o := &labs.StateOptions{Backend: "lsm", Keys: 200_000, Parallelism: 2, MemoryBytes: 256 << 20}
	asJSON := false
	c := &cobra.Command{
		Use: "rescale", Short: "Time until a job with a large state runs with another parallelism", Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return measured(s, c, "rescale", o, &asJSON, labs.BenchRescale, func(r labs.RescaleResult) string {
				return fmt.Sprintf("%s: %d -> %d with %.1f MB of state   running after %.0f ms (checkpoint %d ms)   keys %v",
					r.Backend, r.From, r.To, float64(r.StateBytes)/1e6, r.RunningAfterMs, r.CheckpointMs, r.RestoredKeys)
			})
		},
	}
	stateFlags(c, o, &asJSON)
	c.Flags().IntVar(&o.RecordBytes, "record-bytes", 1024, "characters of state beside the count of each key")
	c.Flags().Float64Var(&o.Rate, "rate", 100_000, "records/s")
	c.Flags().IntVar(&o.To, "to", 3, "subtasks after the change")
	return c
}

func checkState(o *labs.StateOptions) error {
	err := checkBounds([]bound{
		{"records", o.Records, 0, 1 << 50}, {"keys", o.Keys, 1, 1 << 27}, {"record-bytes", int64(o.RecordBytes), 0, 1 << 20},
		{"parallelism", int64(o.Parallelism), 1, 64}, {"task-managers", int64(o.TaskManagers), 1, 16}, {"buffer-timeout", int64(o.BufferTimeoutMs), -1, 60_000},
		{"memory", o.MemoryBytes, 1 << 20, 1 << 40}, {"checkpoints", int64(o.Checkpoints), 0, 1000}, {"to", int64(o.To), 0, 64},
	})
	switch {
	case err != nil:
		return err
	case o.Backend != "hashmap" && o.Backend != "lsm":
		return usage("--backend: %q is not one of hashmap, lsm", o.Backend)
	case o.Transport != "tcp" && o.Transport != "memory":
		return usage("--transport: %q is not one of tcp, memory", o.Transport)
	case !(o.Rate >= 0 && o.Rate <= 1e8):
		return usage("--rate: %v is not from 0 to 100000000", o.Rate)
	}
	return nil
}
