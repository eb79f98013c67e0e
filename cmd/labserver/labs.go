package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"weir/labs"
)

func newLabs(s streams) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:                   "labs [--json]",
		Short:                 "Lists the labs with their knobs",
		Example:               "  labserver labs\n  labserver labs --json | jq -r '.[].id'",
		Args:                  exactly(),
		DisableFlagsInUseLine: true,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return printJSON(s.out, labs.List())
			}
			return listLabs(s.out)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func listLabs(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range labs.All() {
		_, _ = fmt.Fprintf(t, "%s\t%s\n", l.ID, l.Title.En)
		for i := range l.Knobs {
			k := &l.Knobs[i]
			_, _ = fmt.Fprintf(t, "  %s\t%v\t%s\t%s\n", k.Name, k.Default, k.Expects(), k.TakesEffect)
		}
	}
	return t.Flush()
}

// printJSONLine writes a value as JSON on one line.
func printJSONLine(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// printJSON writes a value as indented JSON with a final newline.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
