// Package labs holds the teaching labs: each is a real job with its knobs, its panels, a lesson of four steps, and claims
// that are judged against the running job.
//
//   - A Knob is a value that knows its name, unit, range, Flink option and when a change takes effect (registry*.go).
//   - A Lab says which knobs it has, with which defaults, and builds the job graph (lab.go and one file a lab).
//   - A Run is a lab's job while it runs: its readings with the diagnosis, its knobs, its actions (run.go).
//   - The judges are plain functions over readings, without goroutine or clock: Diagnose, ExplainCheckpoint and the
//     evidence tracker. The page, the commands and the checkers all use them.
package labs
