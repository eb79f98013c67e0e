package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"weir/web"
)

func newServe(s streams) *cobra.Command {
	var o web.Options
	verbose := false
	c := &cobra.Command{
		Use:   "serve [--addr HOST:PORT] [--data DIR]",
		Short: "Serves the lab; the same without a verb",
		Args:  exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			level := slog.LevelInfo
			if verbose {
				level = slog.LevelDebug
			}
			o.Logger = slog.New(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: level}))
			o.Out = s.out
			return web.Serve(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.Addr, "addr", web.DefaultAddr, "address to listen on; port 0 picks a free one")
	c.Flags().StringVar(&o.DataDir, "data", "data", "folder for uploads and checkpoints")
	c.Flags().BoolVar(&verbose, "verbose", false, "log each request")
	return c
}
