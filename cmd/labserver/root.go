package main

import (
	"strings"

	"github.com/spf13/cobra"

	"weir/labs"
)

func newRoot(s streams) *cobra.Command {
	serve := newServe(s)
	root := &cobra.Command{
		Use:   "labserver",
		Short: "A teaching lab for the inside of a stream processor",
		Long: "Weir hosts a real stream engine, built after Apache Flink 2.3, with live knobs.\n" +
			"Without a verb it serves the lab on this machine.",
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var verbs []string
		for _, c := range root.Commands() {
			if c.IsAvailableCommand() {
				verbs = append(verbs, c.Name())
			}
		}
		if near := labs.Nearest(args[0], verbs); len(near) > 0 {
			return usage("no command %q: did you mean labserver %s?", args[0], near[0])
		}
		return usage("no command %q: there are %s", args[0], strings.Join(verbs, ", "))
	}
	root.Flags().AddFlagSet(serve.Flags())
	root.RunE = serve.RunE
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("%w: see %s --help", err, c.CommandPath())
	})
	root.AddCommand(serve, newLabs(s), newRun(s), newKeygroup(s), newBench(s), newVerify(s), newCheck(s), newNew(s), newBackup(s), newRestore(s), newClass(s), newRegrade(s), newVersion(s))
	root.SetHelpCommand(&cobra.Command{Use: "no-help", Hidden: true})
	return root
}

// exactly is cobra.ExactArgs with an error that says what the arguments are.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) > len(names):
			return usage("unexpected %q after %s: see %s --help", args[len(names)], c.CommandPath(), c.CommandPath())
		case len(args) < len(names):
			return usage("%s needs a %s: see %s --help", c.CommandPath(), names[len(args)], c.CommandPath())
		}
		return nil
	}
}
