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
			"Without a verb it serves the lab on this machine; the flags are those of serve.",
		Example: "  labserver                                                    # then open http://127.0.0.1:8090\n" +
			"  labserver run backpressure --for 45s --at 20s:debloat=true   # a lab without the page\n" +
			"  labserver new debloater && labserver check debloater         # an exercise",
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: noEmptyValues,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return noCommand(root, args[0])
	}
	root.Flags().AddFlagSet(serve.Flags())
	root.RunE = serve.RunE
	root.SetFlagErrorFunc(flagError)
	// The verbs come first; the flags of serve would drown them.
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "{{if .HasAvailableLocalFlags}}", "{{if and .HasParent .HasAvailableLocalFlags}}", 1))
	cobra.EnableCommandSorting = false
	group := func(id, title string, verbs ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: id, Title: title})
		for _, c := range verbs {
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	group("labs", "Labs:", serve, newLabs(s), newRun(s), newKeygroup(s))
	group("exercises", "Exercises:", newNew(s), newCheck(s))
	group("classes", "Classes:", newClass(s), newBackup(s), newRestore(s), newRegrade(s))
	group("more", "More:", newBench(s), newVerify(s), newCompletion(s), newVersion(s))
	root.SetHelpCommand(newHelp(root))
	root.SetHelpCommandGroupID("more")
	return root
}

// noCommand is the error for a verb that there is not.
func noCommand(root *cobra.Command, name string) error {
	var verbs []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			verbs = append(verbs, c.Name())
		}
	}
	if near := labs.Nearest(name, verbs); len(near) > 0 {
		return usage("no command %q: did you mean %s %s?", name, root.CommandPath(), near[0])
	}
	return usage("no command %q: there are %s", name, strings.Join(verbs, ", "))
}

func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Says what a command does", Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			switch {
			case err != nil:
				return noCommand(root, args[0])
			case len(rest) > 0 && c.HasSubCommands():
				return noCommand(c, rest[0])
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	}
}

// exactly is cobra.ExactArgs with an error that says what the arguments are.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) > len(names):
			return usage("unexpected %q after %s: see %s --help", args[len(names)], c.CommandPath(), c.CommandPath())
		case len(args) < len(names):
			return usage("%s needs %s: see %s --help", c.CommandPath(), a(names[len(args)]), c.CommandPath())
		}
		return nil
	}
}

// a puts the article before a word.
func a(word string) string {
	if strings.ContainsAny(word[:1], "AEIOUaeiou") {
		return "an " + word
	}
	return "a " + word
}
