package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"weir/class"
	"weir/class/store"
)

// database is where a server with --class keeps its classes.
type database struct{ url, data string }

func (d *database) flags(c *cobra.Command) {
	c.Flags().StringVar(&d.url, "db", "", "where the classes are: sqlite:PATH or postgres://...; a file in the data folder by default")
	c.Flags().StringVar(&d.data, "data", "data", "data folder of the server")
}

// address is the URL for the store.
func (d *database) address() string {
	if d.url != "" {
		return d.url
	}
	return "sqlite:" + filepath.Join(d.data, "class", "weir.db")
}

func newBackup(s streams) *cobra.Command {
	var d database
	c := &cobra.Command{
		Use:   "backup [--db URL] FILE",
		Short: "Writes all classes of a server to one file",
		Long: "Writes all classes with people, results and work, as they are at one moment, to FILE; the server may run meanwhile.\n" +
			"FILE takes the place of an older one only when it is whole. labserver restore reads it into either database.\n" +
			"It holds learners' work and what lets them in: keep it as safe as the server's disk.",
		Args:                  exactly("FILE"),
		DisableFlagsInUseLine: true,
		RunE: func(c *cobra.Command, args []string) (err error) {
			address := d.address()
			if path, ok := strings.CutPrefix(address, "sqlite:"); ok && !exists(path) {
				return usage("--db %s: there is no such file", address) // and none is made
			}
			if info, err := os.Stat(args[0]); err == nil && !info.Mode().IsRegular() {
				return usage("FILE %s: there is something else of this name", args[0])
			}
			st, err := store.Open(c.Context(), address)
			if err != nil {
				return storeError(err)
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
