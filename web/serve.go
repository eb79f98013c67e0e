package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"
)

// Options say where and how to serve.
type Options struct {
	// Addr is HOST:PORT; empty is DefaultAddr, port 0 picks a free one.
	Addr string
	// DataDir holds uploads and checkpoints while the server runs; empty is "data".
	DataDir string
	// Logger gets what happens; nil discards it.
	Logger *slog.Logger
	// Class has the server serve classes; nil serves one person.
	Class *ClassOptions
	// Join has the server of one person be in a class; nil is in none.
	Join *JoinOptions
	// Out gets the one line that says where the lab is; nil discards it.
	Out io.Writer
}

// DefaultAddr is where the lab is served unless told otherwise: on this machine only.
const DefaultAddr = "127.0.0.1:8090"

// stopPatience is how long a stop waits for jobs and requests.
const stopPatience = 10 * time.Second

// Serve serves the lab until ctx ends, then stops every job and removes what they wrote; what belongs to a class is kept
// and comes back with the next server. When it is ready it prints
// "listening on http://HOST:PORT". What stands in the way of starting comes back as one line that says what to do.
func Serve(ctx context.Context, o Options) error {
	o = o.withDefaults()
	if o.Join != nil {
		if err := OnlyHere(o.Addr); err != nil {
			return err
		}
	}
	if err := writable(o.DataDir); err != nil {
		return err
	}
	secured, err := o.Class.loadTLS(o.Logger)
	if err != nil {
		return err
	}
	ln, err := listen(ctx, o.Addr)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := newServer(ctx, o, startLab)
	if err != nil {
		_ = ln.Close()
		return err
	}
	h := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
		TLSConfig:         secured,
	}
	if s.joined != nil {
		if err := s.joined.begin(ctx); err != nil {
			return errors.Join(err, ln.Close(), s.close(context.Background())) // nothing runs yet
		}
		s.housekeeping.Go(func() { s.joined.run(ctx, s) })
	}
	if s.course != nil {
		h.MaxHeaderBytes = 32 << 10
		s.course.addresses = baseAddresses(ln.Addr(), o.Class.Hosts, secured != nil)
		s.bringBack(ctx)
		s.housekeeping.Go(func() { s.course.follow(ctx) })
		s.housekeeping.Go(func() { s.housekeep(ctx) })
	}
	address := "http://" + ln.Addr().String()
	if secured != nil {
		address = "https://" + ln.Addr().String()
		ln = &tlsListener{ln, secured}
	}
	served := make(chan error, 1)
	go func() { served <- h.Serve(ln) }()
	_, _ = fmt.Fprintf(o.Out, "listening on %s\n", address)
	if s.joined != nil {
		s.joined.sayJoined(o.Out, address)
	}
	if s.course != nil {
		at := o.Class.Advertise
		if at == "" {
			at = baseAddresses(ln.Addr(), nil, secured != nil)[0]
		}
		s.housekeeping.Go(func() { s.course.register(ctx, at, pinNow(secured)) })
		err = s.announce(ctx, o)
	}
	if err == nil {
		o.Logger.Info("listening", "address", ln.Addr().String(), "data", o.DataDir)
		select {
		case err = <-served:
			err = fmt.Errorf("serving on %s: %w", ln.Addr(), err)
		case <-ctx.Done():
		}
	}
	o.Logger.Info("stopping")
	cancel()
	sctx, done := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer done()
	err = errors.Join(err, h.Shutdown(sctx), s.close(sctx))
	o.Logger.Info("stopped")
	return err
}

func (o Options) withDefaults() Options {
	if o.Addr == "" {
		o.Addr = DefaultAddr
		if o.Class != nil {
			o.Addr = DefaultClassAddr
		}
	}
	if o.DataDir == "" {
		o.DataDir = "data"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	return o
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("address %q is not HOST:PORT: give one such as --addr %s", addr, DefaultAddr)
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("port %s of %s is in use: choose another with --addr %s, or any free one with --addr %s",
			port, host, net.JoinHostPort(host, "8091"), net.JoinHostPort(host, "0"))
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("port %s of %s needs rights that this user lacks: choose one above 1023 with --addr %s", port, host, net.JoinHostPort(host, "8091"))
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w: choose another address with --addr HOST:PORT", addr, err)
	}
	return ln, nil
}

// writable makes sure of the data folder before anything else is done.
func writable(dir string) error {
	refuse := func(err error) error {
		var pe *os.PathError
		reason := err.Error()
		if errors.As(err, &pe) {
			reason = pe.Err.Error()
		}
		return fmt.Errorf("data folder %s is not writable (%s): choose another with --data DIR", dir, reason)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return refuse(err)
	}
	f, err := os.CreateTemp(dir, ".writable-*")
	if err != nil {
		return refuse(err)
	}
	_ = f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return refuse(err)
	}
	return nil
}

// instanceDir makes a folder of this server alone below the data folder, so that two servers may share one.
func instanceDir(dir string) (string, error) {
	d, err := os.MkdirTemp(dir, "serve-")
	if err != nil {
		return "", fmt.Errorf("data folder %s: %w", dir, err)
	}
	return d, nil
}
