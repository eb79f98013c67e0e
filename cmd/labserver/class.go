package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"weir/class"
	"weir/class/store"
	"weir/web"
)

func newClass(s streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "class COMMAND",
		Short: "Tells of the classes of a server, and makes a new link for an instructor",
		Example: "  labserver class list --data /var/lib/weir\n" +
			"  labserver class link --data /var/lib/weir 7KQ29MXD",
		Args: exactly("COMMAND"),
		RunE: func(_ *cobra.Command, args []string) error {
			return usage("no command %q: there are list and link", args[0])
		},
	}
	c.AddCommand(newClassList(s), newClassLink(s))
	return c
}

// openClasses opens a database that is there; none is made.
func openClasses(ctx context.Context, d *database) (*store.Store, error) {
	address := d.address()
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok && !exists(path) {
		return nil, noDatabase(address)
	}
	st, err := store.Open(ctx, address)
	return st, databaseError(address, err)
}

func newClassList(s streams) *cobra.Command {
	var d database
	c := &cobra.Command{
		Use:                   "list [--db URL]",
		Short:                 "Lists the classes with their join codes",
		Args:                  exactly(),
		DisableFlagsInUseLine: true,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			st, err := openClasses(c.Context(), &d)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, st.Close()) }()
			all, err := st.Classes(c.Context())
			if err != nil {
				return storeError(err)
			}
			w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
			_, _ = fmt.Fprintln(w, "CLASS\tJOIN CODE\tSTATE\tEXPIRES\tID")
			for _, k := range all {
				_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", k.Name, class.ShowCode(k.Code), k.State, k.Expires.Format(time.DateOnly), k.ID)
			}
			return w.Flush()
		},
	}
	d.flags(c)
	return c
}

func newClassLink(s streams) *cobra.Command {
	var d database
	c := &cobra.Command{
		Use:   "link [--db URL] [CLASS]",
		Short: "Makes a new instructor link for a class; the one before ends",
		Long: "Makes a new instructor link for a CLASS, given by its name, join code or id, for who has lost it; where there is one class it\n" +
			"need not be given. The link before ends within seconds, on all servers. It is in the audit log of the class.",
		DisableFlagsInUseLine: true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exactly("CLASS")(c, args)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) (err error) {
			ctx := c.Context()
			st, err := openClasses(ctx, &d)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, st.Close()) }()
			k, err := oneClass(ctx, st, strings.Join(args, " "))
			if err != nil {
				return err
			}
			token, hash := class.NewToken()
			before := k.TokenHash
			if err := st.UpdateClass(ctx, k.ID, func(k *class.Class) error { k.TokenHash = hash; return nil }); err != nil {
				return storeError(err)
			}
			if err := st.Audit(ctx, class.Audited{Class: k.ID, Who: "operator", What: "new instructor link"}); err != nil {
				return storeError(err)
			}
			if err := web.KeepLink(d.data, before, token); err != nil {
				return err
			}
			servers, err := st.Servers(ctx)
			if err != nil {
				return storeError(err)
			}
			address := "http://ADDRESS-OF-THE-SERVER"
			if len(servers) > 0 {
				address = servers[0].URL
			}
			_, err = fmt.Fprintf(s.out, "class: %s\njoin code: %s\ninstructor link: %s/class/i/%s\n", k.Name, class.ShowCode(k.Code), address, token)
			return err
		},
	}
	d.flags(c)
	return c
}

// oneClass finds a class by its name, join code or id; without any, the only one there is.
func oneClass(ctx context.Context, st *store.Store, what string) (*class.Class, error) {
	all, err := st.Classes(ctx)
	if err != nil {
		return nil, storeError(err)
	}
	code, cerr := class.ParseCode(what)
	var found []class.Class
	var names []string
	for _, k := range all {
		names = append(names, fmt.Sprintf("%s (%s)", k.Name, class.ShowCode(k.Code)))
		if what == "" || k.Name == what || k.ID == what || cerr == nil && k.Code == code {
			found = append(found, k)
		}
	}
	switch {
	case len(all) == 0:
		return nil, usage("there is no class in this database")
	case len(found) == 0:
		return nil, usage("no class %q: there are %s", what, strings.Join(names, ", "))
	case len(found) > 1:
		return nil, usage("give a CLASS by its join code: there are %s", strings.Join(names, ", "))
	}
	return &found[0], nil
}
