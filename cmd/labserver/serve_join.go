package main

import (
	"github.com/spf13/cobra"

	"weir/class"
	"weir/class/remote"
	"weir/web"
)

// joinFlags are the words of serve for a learner of a class who runs the engine on their own machine.
type joinFlags struct {
	url, code, name, ca string
}

func (f *joinFlags) add(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.url, "join", "", "be in a class with this machine's own engine: the `URL` at which learners join, or your personal link")
	fl.StringVar(&f.code, "code", "", "the join `CODE`, where the address of --join has none")
	fl.StringVar(&f.name, "name", "", "your `NAME` in the class; without it the page asks")
	fl.StringVar(&f.ca, "join-ca", "", "`FILE` of the certificate of the class's server, where nobody that this machine trusts has signed it")
}

// options are nil without --join.
func (f *joinFlags) options(c *cobra.Command, isClass bool, addr string) (*web.JoinOptions, error) {
	if f.url == "" {
		for _, name := range []string{"join", "code", "name", "join-ca"} {
			if c.Flags().Changed(name) {
				return nil, usage("--%s is of a learner's own machine: give --join URL, the address at which learners join the class", name)
			}
		}
		return nil, nil
	}
	if isClass {
		return nil, usage("--join and --class exclude each other: a server hosts classes, or is one learner's own")
	}
	a, err := remote.ParseAddress(f.url, f.code)
	if err != nil {
		return nil, usage("--join: %w", err)
	}
	if f.name != "" {
		if _, err := class.CleanName(f.name); err != nil {
			return nil, usage("--name: give 1 to %d characters", class.MostNameRunes)
		}
	}
	if err := web.OnlyHere(addr); err != nil {
		return nil, asUsage(err)
	}
	return &web.JoinOptions{Address: a, Name: f.name, CA: f.ca}, nil
}
