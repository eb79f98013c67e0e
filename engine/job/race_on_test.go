//go:build race

package job_test

// raced says that the race detector is on, with which everything is many times slower: random tests try fewer seeds.
const raced = true
