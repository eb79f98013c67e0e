package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"weir/class"
	"weir/web"
)

// database is where a server with --class keeps its classes.
type database struct{ url, data string }

func (d *database) flags(c *cobra.Command) {
	c.Flags().StringVar(&d.url, "db", "", "where the classes are, a `URL`: sqlite:PATH or postgres://...; a file in the data folder by default")
	c.Flags().StringVar(&d.data, "data", "data", "data folder (`DIR`) of the server")
	completeFolder(c, "data")
}

// address is the URL for the store.
func (d *database) address() string {
	if d.url != "" {
		return d.url
	}
	return web.ClassDB(d.data)
}

// noDatabase is the error for a file that is not there.
func noDatabase(address string) error {
	return usage("database %s: there is no such file: give the data folder of the server with --data, or the database with --db", address)
}

// databaseError names the database that could not be opened, without a password.
func databaseError(address string, err error) error {
	switch {
	case errors.Is(err, class.ErrInvalid):
		return usage("--db: %w", err)
	case errors.Is(err, class.ErrUnavailable):
		shown, _, _ := strings.Cut(address, ":")
		if u, perr := url.Parse(address); perr == nil {
			shown = u.Redacted()
		}
		return fmt.Errorf("database %s: %w: look at its address, and whether it is one, runs and lets you in", shown, err)
	}
	return err
}

func newBackup(s streams) *cobra.Command {
	var d database
	c := &cobra.Command{
		Use:   "backup [--db URL] FILE",
		Short: "Writes all classes of a server to one file",
		Long: "Writes all classes with people, results and work, as they are at one moment, to FILE; the server may run meanwhile.\n" +
			"FILE takes the place of an older one only when it is whole. labserver restore reads it into either database.\n" +
			"It holds learners' work and what lets them in: keep it as safe as the server's disk.",
		Example:               "  labserver backup --data data weir-$(date +%F).backup",
		Args:                  exactly("FILE"),
		DisableFlagsInUseLine: true,
		RunE: func(c *cobra.Command, args []string) (err error) {
			if info, err := os.Stat(args[0]); err == nil && !info.Mode().IsRegular() {
				return usage("FILE %s: there is something else of this name", args[0])
			}
			st, err := openClasses(c.Context(), &d)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, st.Close()) }()
			if err := st.Backup(c.Context(), args[0]); err != nil {
				return storeError(err)
			}
			_, err = fmt.Fprintln(s.out, args[0])
			return err
		},
	}
	d.flags(c)
	return c
}

// storeError marks what was asked wrongly.
func storeError(err error) error {
	if errors.Is(err, class.ErrInvalid) {
		return asUsage(err)
	}
	return err
}
