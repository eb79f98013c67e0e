// Package fieldreports holds what went wrong for users of Flink and engines like it as tests of this engine, with the
// values that Flink 2.3 has. It has test files only. Where a report is about one core whose package tests it, the test
// is there:
//
//	 1  eight keys on eight subtasks               keys_test.go
//	 2  derived max parallelism, twice the load     keys_test.go
//	 3  restoring with another max parallelism      keys_test.go
//	 4  insufficient network buffers                engine/memory TestFieldReport4InsufficientBuffers; a job: engine/job TestRefused
//	 5  zero exclusive buffers                      buffers_test.go; engine/network TestZeroExclusiveBuffers,
//	                                                testdata/sender/no_exclusive, testdata/credit/blocked_upstream
//	 6  a stale waiting flag                        engine/network testdata/credit/stale_waiting_flag
//	 7  data added while blocked                    engine/network testdata/sender/blocked, testdata/subpartition/blocked-flush-always
//	 8  overdraft accounting                        buffers_test.go
//	 9  buffer size that jumps                      debloat_test.go; engine/task TestDebloaterTraces
//	10  a target that is never reached              engine/task TestDebloaterTraces, TestDebloaterTellsThatTheFloorIsReached
//	11  idle channels                               debloat_test.go; engine/task TestDebloaterTraces
//	12  silence measured as zero throughput         debloat_test.go; engine/task TestSilenceDoesNotCountAsThroughput
//	13  a barrier stuck in the output queue        engine/job TestBarrierStuckInTheOutputQueue; engine/checkpoint testdata/alternating
//	14  uploaded taken for the size                state_test.go; engine/job TestSizesOfCheckpoints
//	15  shared files left after an upload error    engine/job TestIncrementalUnderFaults; engine/checkpoint testdata/registry/failed
//	16  same file name, other content              state_test.go; engine/state/lsm TestUploadsPlan
//	17  a rescaled store keeps the other half      state_test.go; engine/state/lsm TestLessonRescale
//	18  a value changed in place                   state_test.go; engine/state/heap testdata/copies
//	19  split state moves without a rescale        engine/checkpoint TestFieldReport19, TestGolden
//	20  two sorts of half load                      load_test.go; engine/metric TestTaskTimesTellLoadShapesApart
//	21  delay behind a keyBy                        load_test.go
package fieldreports
