package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"weir/exercises"
	"weir/labs"
)

func newCompletion(s streams) *cobra.Command {
	shells := map[string]func(*cobra.Command, io.Writer) error{
		"bash":       func(r *cobra.Command, w io.Writer) error { return r.GenBashCompletionV2(w, true) },
		"zsh":        func(r *cobra.Command, w io.Writer) error { return r.GenZshCompletion(w) },
		"fish":       func(r *cobra.Command, w io.Writer) error { return r.GenFishCompletion(w, true) },
		"powershell": func(r *cobra.Command, w io.Writer) error { return r.GenPowerShellCompletionWithDesc(w) },
	}
	names := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Prints a script that completes labs, knobs and exercises in your shell",
		Example: "  source <(labserver completion bash)\n" +
			"  labserver completion zsh > \"${fpath[1]}/_labserver\"\n" +
			"  labserver completion fish | source",
		Args:                  exactly("SHELL"),
		ValidArgs:             names,
		DisableFlagsInUseLine: true,
		RunE: func(c *cobra.Command, args []string) error {
			script, ok := shells[args[0]]
			if !ok {
				return usage("no completion for %q: there are %s", args[0], strings.Join(names, ", "))
			}
			return script(c.Root(), s.out)
		},
	}
}

// completeLab offers the labs as the one argument.
func completeLab(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if len(args) == 0 {
		for _, l := range labs.All() {
			names = append(names, cobra.CompletionWithDesc(l.ID, l.Title.En))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeExercises offers up to so many exercises; 0 is any number.
func completeExercises(most int) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		names := []string{"all"}
		if most > 0 && len(args) >= most {
			names = nil
		} else {
			for _, e := range exercises.All() {
				names = append(names, cobra.CompletionWithDesc(e.ID, e.Title.En))
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeKnob offers KNOB= for --set, and behind it the values that are words.
func completeKnob(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	l, ok := labs.Get(args[0])
	if !ok {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	name, _, valued := strings.Cut(typed, "=")
	var words []string
	for i := range l.Knobs {
		k := &l.Knobs[i]
		if !valued {
			words = append(words, cobra.CompletionWithDesc(k.Name+"=", k.Expects()))
			continue
		}
		if k.Name != name {
			continue
		}
		values := k.Values
		if k.Type == labs.Bool {
			values = []string{"true", "false"}
		}
		for _, v := range values {
			words = append(words, name+"="+v)
		}
	}
	if valued {
		return words, cobra.ShellCompDirectiveNoFileComp
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeTimed offers what may stand behind the time of --at.
func completeTimed(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	when, rest, ok := strings.Cut(typed, ":")
	if !ok {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	words, how := completeKnob(c, args, rest)
	if !strings.Contains(rest, "=") {
		words = append(words, timedActions()...)
	}
	for i := range words {
		words[i] = when + ":" + words[i]
	}
	return words, how
}

// completeFlag offers words for a flag that the command has.
func completeFlag(c *cobra.Command, flag string, offer cobra.CompletionFunc) {
	if err := c.RegisterFlagCompletionFunc(flag, offer); err != nil {
		panic("labserver: " + err.Error()) // the flag's name is misspelt here
	}
}

// completeWords is completeFlag for a flag that takes one of a few words.
func completeWords(c *cobra.Command, flag string, words ...string) {
	completeFlag(c, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// completeFolder is completeFlag for a flag that takes a folder.
func completeFolder(c *cobra.Command, flags ...string) {
	for _, f := range flags {
		completeFlag(c, f, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
	}
}
