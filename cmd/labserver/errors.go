package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"weir/engine/input"
	"weir/labs"
)

// usageError is what was asked wrongly: nothing was run.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// asUsage marks an error as wrong usage.
func asUsage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// report prints an error as one line and returns the exit status.
func report(err error, w io.Writer) int {
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintln(w, "labserver:", strings.Join(strings.Fields(err.Error()), " "))
	var u usageError
	var k *labs.KnobError
	var in *input.Error
	if errors.As(err, &u) || errors.As(err, &k) || errors.As(err, &in) {
		return 2
	}
	return 1
}
