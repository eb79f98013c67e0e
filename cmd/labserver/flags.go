package main

import (
	"errors"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weir/labs"
)

// flagError says what is wrong with a flag in words for who typed it.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var wrong *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1:
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := labs.Nearest(unknown.GetSpecifiedName(), names); len(near) > 0 {
			return usage("unknown flag --%s: did you mean --%s? See %s --help", unknown.GetSpecifiedName(), near[0], c.CommandPath())
		}
		return usage("unknown flag --%s: see %s --help", unknown.GetSpecifiedName(), c.CommandPath())
	case errors.As(err, &wrong):
		return usage("--%s %q: %s", wrong.GetFlag().Name, wrong.GetValue(), expected(wrong))
	}
	return usage("%w: see %s --help", err, c.CommandPath())
}

// expected says what a flag takes.
func expected(e *pflag.InvalidValueError) string {
	if errors.Is(e, strconv.ErrRange) {
		return "that number is too large"
	}
	switch e.GetFlag().Value.Type() {
	case "bool":
		return "give true or false"
	case "duration":
		return "that is not a time: give one such as 30s or 1m30s"
	case "int", "int64", "uint64":
		return "that is not a whole number"
	case "float64":
		return "that is not a number"
	case "intSlice":
		return "give whole numbers such as 1,10,40"
	default:
		return "give words with commas between them"
	}
}

// noEmptyValues refuses a flag that was given nothing, such as by a variable of a script that is not set: left out quietly,
// a run would begin without its file or its checkpoint.
func noEmptyValues(c *cobra.Command, _ []string) error {
	var err error
	c.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && f.Value.Type() == "string" && f.Value.String() == "" {
			err = usage("--%s is empty: give it a value, or leave it out", f.Name)
		}
	})
	return err
}
