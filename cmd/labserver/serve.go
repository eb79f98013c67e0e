package main

import (
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"weir/web"
)

func newServe(s streams) *cobra.Command {
	var o web.Options
	var f classFlags
	var j joinFlags
	verbose := false
	c := &cobra.Command{
		Use:   "serve [--addr HOST:PORT] [--data DIR] [--class | --join URL [--name NAME]]",
		Short: "Serves the lab; the same without a verb",
		Long: "Serves the lab on this machine, for one person. With --class it serves classes to the network: it prints the link of\n" +
			"the instructor, the join code, and the addresses at which learners join.\n" +
			"With --join it is still yours alone, and you are in a class with it: labs and checks run on this machine, the class sees\n" +
			"where you are, your run in small, and your results. URL is the address at which learners join, or your personal link.",
		Example: "  labserver serve --addr 127.0.0.1:0\n" +
			"  labserver serve --class --data /var/lib/weir\n" +
			"  labserver serve --join 'http://192.0.2.7:8090/class?code=7KQ29MXD' --name Ana",
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			level := slog.LevelInfo
			if verbose {
				level = slog.LevelDebug
			}
			o.Logger = slog.New(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: level}))
			o.Out = s.out
			err := checkAddr(o.Addr)
			if err != nil {
				return err
			}
			if o.Class, err = f.options(c); err != nil {
				return err
			}
			if o.Join, err = j.options(c, f.class, o.Addr); err != nil {
				return err
			}
			if f.class && !c.Flags().Changed("addr") {
				o.Addr = web.DefaultClassAddr
			}
			if err = web.Serve(c.Context(), o); o.Class != nil {
				err = databaseError((&database{o.Class.DB, o.DataDir}).address(), err)
			}
			return err
		},
	}
	fl := c.Flags()
	fl.StringVar(&o.Addr, "addr", web.DefaultAddr, "address (`HOST:PORT`) to listen on; port 0 picks a free one; "+web.DefaultClassAddr+" with --class")
	fl.StringVar(&o.DataDir, "data", "data", "folder (`DIR`) for uploads, checkpoints, progress and classes")
	fl.BoolVar(&verbose, "verbose", false, "log each request")
	f.add(c)
	j.add(c)
	completeFolder(c, "data")
	return c
}

// checkAddr refuses what is no HOST:PORT.
func checkAddr(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return usage("--addr %q is not HOST:PORT: give one such as %s", addr, web.DefaultAddr)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return usage("--addr %q: %q is no port: give a number from 1 to 65535, or 0 for any free one", addr, port)
	}
	return nil
}

// classFlags are the words of serve that need --class.
type classFlags struct {
	class                bool
	o                    web.ClassOptions
	proxies              []string
	stateMiB             int64
	diskEachMiB, diskMiB int64
	classOnly            []string
}

func (f *classFlags) add(c *cobra.Command) {
	fl, d := c.Flags(), web.DefaultClassLimits
	fl.BoolVar(&f.class, "class", false, "serve classes to the network")
	only := func(name string) { f.classOnly = append(f.classOnly, name) }
	fl.StringVar(&f.o.DB, "db", "", "where people and results are kept, a `URL`: sqlite:PATH or postgres://...; a file in the data folder by default")
	only("db")
	fl.StringVar(&f.o.TLSCert, "tls-cert", "", "certificate `FILE`, to serve https")
	only("tls-cert")
	fl.StringVar(&f.o.TLSKey, "tls-key", "", "its key `FILE`")
	only("tls-key")
	fl.StringSliceVar(&f.proxies, "trusted-proxy", nil, "`NETWORK` of a proxy in front, such as 127.0.0.1/32, whose word on a caller's address is taken; may be repeated")
	only("trusted-proxy")
	fl.StringSliceVar(&f.o.Hosts, "host", nil, "`NAME` by which browsers reach this server, such as lab.example.org; may be repeated")
	only("host")
	fl.StringVar(&f.o.Advertise, "advertise", "", "`URL` at which the other servers on the database reach this one, such as http://10.0.0.7:8090; by default the first of its own")
	only("advertise")
	fl.IntVar(&f.o.Limits.Sessions, "max-sessions", d.Sessions, "jobs that run at once; learners beyond them wait in a queue")
	only("max-sessions")
	fl.IntVar(&f.o.Limits.PerLearner, "sessions-per-learner", d.PerLearner, "jobs that one learner may run at once")
	only("sessions-per-learner")
	fl.Float64Var(&f.o.Limits.Rate, "max-rate", d.Rate, "records a second of a learner's job")
	only("max-rate")
	fl.Int64Var(&f.stateMiB, "max-state-mib", d.StateBytes>>20, "state of a learner's job, in MiB")
	only("max-state-mib")
	fl.IntVar(&f.o.Limits.Uploads, "uploads-per-learner", d.Uploads, "files of one learner that are kept")
	only("uploads-per-learner")
	fl.Int64Var(&f.diskEachMiB, "disk-per-learner-mib", d.DiskEach>>20, "disk for the uploads and the checkpoints of a learner, in MiB")
	only("disk-per-learner-mib")
	fl.Int64Var(&f.diskMiB, "max-disk-mib", d.Disk>>20, "disk for those of all learners of this server, in MiB")
	only("max-disk-mib")
}

// options are nil without --class.
func (f *classFlags) options(c *cobra.Command) (*web.ClassOptions, error) {
	if !f.class {
		for _, name := range f.classOnly {
			if c.Flags().Changed(name) {
				return nil, usage("--%s is of a server of classes: give --class too", name)
			}
		}
		return nil, nil
	}
	for _, text := range f.proxies {
		p, err := netip.ParsePrefix(text)
		if a, aerr := netip.ParseAddr(text); err != nil && aerr == nil {
			p, err = a.Prefix(a.BitLen())
		}
		if err != nil {
			return nil, usage("--trusted-proxy %q: give a network such as 10.0.0.0/8, or an address", text)
		}
		f.o.TrustedProxies = append(f.o.TrustedProxies, p)
	}
	for _, h := range f.o.Hosts {
		if h == "" || strings.ContainsAny(h, "/ *") {
			return nil, usage("--host %q: give a name such as lab.example.org, without http:// and path", h)
		}
	}
	if f.o.Advertise != "" {
		if _, err := web.ParseAdvertise(f.o.Advertise); err != nil {
			return nil, usage("--advertise %w", err)
		}
	}
	if (f.o.TLSCert == "") != (f.o.TLSKey == "") {
		return nil, usage("--tls-cert and --tls-key belong together: give both")
	}
	if f.o.DB != "" && !strings.HasPrefix(f.o.DB, "sqlite:") && !strings.HasPrefix(f.o.DB, "postgres://") && !strings.HasPrefix(f.o.DB, "postgresql://") {
		kind, _, _ := strings.Cut(f.o.DB, ":") // no more of it: there may be a password
		return nil, usage("--db %s:...: give sqlite:PATH or postgres://USER@HOST/DATABASE", kind)
	}
	l := f.o.Limits
	for name, ok := range map[string]bool{"max-sessions": l.Sessions > 0, "sessions-per-learner": l.PerLearner > 0, "max-rate": l.Rate > 0, "max-state-mib": f.stateMiB > 0, "uploads-per-learner": l.Uploads > 0,
		"disk-per-learner-mib": f.diskEachMiB > 0, "max-disk-mib": f.diskMiB > 0} {
		if !ok {
			return nil, usage("--%s: give more than 0", name)
		}
	}
	if f.diskMiB < f.diskEachMiB {
		return nil, usage("--max-disk-mib %d: give at least the %d of --disk-per-learner-mib", f.diskMiB, f.diskEachMiB)
	}
	f.o.Limits.StateBytes, f.o.Limits.DiskEach, f.o.Limits.Disk = f.stateMiB<<20, f.diskEachMiB<<20, f.diskMiB<<20
	return &f.o, nil
}
