package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"weir/class"
	"weir/class/store"
)

func newRestore(s streams) *cobra.Command {
	var d database
	force := false
	c := &cobra.Command{
		Use:   "restore [--db URL] [--force] FILE",
		Short: "Reads the classes of a backup into a database",
		Long: "Reads the classes of a FILE that labserver backup wrote into a database, which is made where there is none: all of them, or with\n" +
			"an error none. A database that has classes is left alone, unless --force puts those of FILE in their place.\n" +
			"Stop the servers on the database before.",
		Example:               "  labserver restore --db postgres://weir@db.example.org/weir weir-2026-09-01.backup",
		Args:                  exactly("FILE"),
		DisableFlagsInUseLine: true,
		RunE: func(c *cobra.Command, args []string) error {
			r, err := store.Restore(c.Context(), d.address(), args[0], force)
			if errors.Is(err, class.ErrConflict) {
				return usage("%w: give --force to put those of %s in their place", err, args[0])
			}
			if errors.Is(err, class.ErrUnavailable) {
				return databaseError(d.address(), err)
			}
			if err != nil {
				return storeError(err)
			}
			_, err = fmt.Fprintf(s.out, "restored %d classes, %d people, %d results, backed up %s\n", r.Classes, r.People, r.Results, class.ShowTime(r.Taken, "UTC"))
			return err
		},
	}
	d.flags(c)
	c.Flags().BoolVar(&force, "force", false, "replace the classes that the database has")
	return c
}
