package class

import (
	"errors"
	"fmt"
)

// ErrInvalid is a wrong request: a value that cannot be kept, whoever sends it and however often.
var ErrInvalid = errors.New("not valid")

// ErrUnavailable is the store's own trouble, such as a server that does not answer: the same call may work later. What
// was acknowledged before is kept.
var ErrUnavailable = errors.New("the class's store does not answer now")

// ErrLate is a result after a deadline that takes none. errors.Is also finds ErrClosed in it.
var ErrLate error = lateError{}

type lateError struct{}

func (lateError) Error() string        { return "the deadline has passed, and late results are not taken" }
func (lateError) Is(target error) bool { return target == ErrClosed }

// invalid is an ErrInvalid that names the field and what was expected.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalid, fmt.Errorf(format, args...))
}
