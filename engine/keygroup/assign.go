package keygroup

import (
	"fmt"
	"math/bits"
)

// The bounds of Flink's KeyGroupRangeAssignment.
const (
	// DefaultLowerBound is the least maximum parallelism that is derived from a parallelism.
	DefaultLowerBound = 128
	// UpperBound is the largest maximum parallelism, and so the largest parallelism of a keyed operator.
	UpperBound = 1 << 15
)

// Murmur mixes a Java hash code as Flink's MathUtils.murmurHash does. The result is never negative.
func Murmur(hash int32) int32 {
	h := uint32(hash)
	h *= 0xcc9e2d51
	h = bits.RotateLeft32(h, 15)
	h *= 0x1b873593
	h = bits.RotateLeft32(h, 13)
	h = h*5 + 0xe6546b64
	h ^= 4
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	h ^= h >> 16
	switch m := int32(h); {
	case m >= 0:
		return m
	case m == -1<<31:
		return 0
	default:
		return -m
	}
}

// Assign gives the key group of a key by its Java hash code. maxParallelism must have passed CheckParallelism: this
// runs for every record and checks nothing.
func Assign(hash int32, maxParallelism int) int {
	return int(uint32(Murmur(hash)) % uint32(maxParallelism))
}

// OperatorIndex gives the subtask that owns a key group.
func OperatorIndex(maxParallelism, parallelism, group int) int {
	return group * parallelism / maxParallelism
}

// RangeFor gives the key groups that the subtask with this index owns. Like Flink it does not mind an index at or
// past the parallelism: the range then lies past the key groups.
func RangeFor(maxParallelism, parallelism, index int) (Range, error) {
	if err := checkBoth(maxParallelism, parallelism); err != nil {
		return Empty, err
	}
	first := (index*maxParallelism + parallelism - 1) / parallelism
	last := ((index+1)*maxParallelism - 1) / parallelism
	r, err := RangeOf(first, last)
	if err != nil {
		return Empty, &BoundsError{Detail: fmt.Sprintf("subtask index %d: must be 0 or more", index)}
	}
	return r, nil
}

// Ranges gives the ranges of all subtasks in order.
func Ranges(maxParallelism, parallelism int) ([]Range, error) {
	if err := checkBoth(maxParallelism, parallelism); err != nil {
		return nil, err
	}
	rs := make([]Range, parallelism)
	for i := range rs {
		r, err := RangeFor(maxParallelism, parallelism, i)
		if err != nil {
			return nil, err
		}
		rs[i] = r
	}
	return rs, nil
}

// Table gives the owning subtask of each key group, so that routing a record costs one load. It is nil if the
// numbers are out of bounds; RangeFor says why.
func Table(maxParallelism, parallelism int) []uint16 {
	if checkBoth(maxParallelism, parallelism) != nil {
		return nil
	}
	t := make([]uint16, maxParallelism)
	for g := range t {
		t[g] = uint16(OperatorIndex(maxParallelism, parallelism, g))
	}
	return t
}

// DefaultMaxParallelism derives the maximum parallelism of an operator that has none set: 1.5 times the parallelism,
// rounded up to a power of two, within DefaultLowerBound and UpperBound. A parallelism out of bounds is taken as the
// nearest one within; CheckParallelism refuses it.
func DefaultMaxParallelism(parallelism int) int {
	p := min(max(parallelism, 1), UpperBound)
	n := 1 << bits.Len(uint(p+p/2-1))
	return min(max(n, DefaultLowerBound), UpperBound)
}

// CheckParallelism refuses a parallelism, or a maximum parallelism, that is not within 1 and UpperBound.
func CheckParallelism(parallelism int) error {
	if parallelism <= 0 || parallelism > UpperBound {
		return &BoundsError{
			Message: fmt.Sprintf("Operator parallelism not within bounds: %d", parallelism),
			Detail:  fmt.Sprintf("(must be 1 to %d)", UpperBound),
		}
	}
	return nil
}

func checkBoth(maxParallelism, parallelism int) error {
	if err := CheckParallelism(parallelism); err != nil {
		return err
	}
	if err := CheckParallelism(maxParallelism); err != nil {
		return err
	}
	if maxParallelism < parallelism {
		return &BoundsError{
			Message: "Maximum parallelism must not be smaller than parallelism.",
			Detail:  fmt.Sprintf("(maximum parallelism %d, parallelism %d)", maxParallelism, parallelism),
		}
	}
	return nil
}

// CheckMaxParallelism refuses a maximum parallelism of a job out of bounds, as StreamExecutionEnvironment does.
func CheckMaxParallelism(n int) error {
	if n <= 0 || n > UpperBound {
		return &BoundsError{Message: fmt.Sprintf("maxParallelism is out of bounds 0 < maxParallelism <= %d. Found: %d", UpperBound, n)}
	}
	return nil
}

// CheckOperatorMaxParallelism refuses a maximum parallelism of one operator out of bounds, as
// SingleOutputStreamOperator does.
func CheckOperatorMaxParallelism(n int) error {
	switch {
	case n <= 0:
		return &BoundsError{
			Message: "The maximum parallelism must be greater than 0.",
			Detail:  fmt.Sprintf("(found %d)", n),
		}
	case n > UpperBound:
		return &BoundsError{Message: fmt.Sprintf("Maximum parallelism must be between 1 and %d. Found: %d", UpperBound, n)}
	}
	return nil
}

// CheckOperatorParallelism refuses a parallelism of one operator that SingleOutputStreamOperator refuses: below 1,
// but for -1, the job's default. An upper bound is only enforced where key groups are dealt (CheckParallelism).
func CheckOperatorParallelism(n int) error {
	if n < 1 && n != -1 {
		return &BoundsError{
			Message: "The parallelism of an operator must be at least 1, or ExecutionConfig.PARALLELISM_DEFAULT (use system default).",
			Detail:  fmt.Sprintf("(found %d)", n),
		}
	}
	return nil
}
