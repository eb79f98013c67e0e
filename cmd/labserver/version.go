package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// flinkVersion is the one that the engine follows.
const flinkVersion = "2.3.0"

func newVersion(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Prints the version",
		Args:  exactly(),

		DisableFlagsInUseLine: true,
		RunE: func(*cobra.Command, []string) error {
			version, revision := "(devel)", ""
			if info, ok := debug.ReadBuildInfo(); ok {
				if info.Main.Version != "" {
					version = info.Main.Version
				}
				for _, b := range info.Settings {
					if b.Key == "vcs.revision" {
						revision = " " + b.Value[:min(12, len(b.Value))]
					}
				}
			}
			_, err := fmt.Fprintf(s.out, "weir %s%s, after Apache Flink %s, %s %s/%s\n", version, revision, flinkVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
