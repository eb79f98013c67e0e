package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir/class"
	"weir/whole"
)

// DefaultClassAddr is where classes are served unless told otherwise: on every address of this machine.
const DefaultClassAddr = "0.0.0.0:8090"

// firstClass is the class that a new server has.
const firstClass = "My class"

// overTLS tells whether the browser came over TLS, to this server or to a trusted proxy before it.
func overTLS(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get(forwardedTLS) != ""
}

// forwardedTLS is set by forwarded alone; what a caller sends under this name is taken away.
const forwardedTLS = "X-Weir-Over-Tls"

// forwarded takes a trusted proxy's word for where a request came from. Nobody else's is taken.
func forwarded(trusted []netip.Prefix) func(http.Handler) http.Handler {
	is := func(a netip.Addr) bool {
		return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(a.Unmap()) })
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del(forwardedTLS)
			if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil && is(peer.Addr()) {
				// The last address that no trusted proxy has: those before it are the caller's own words.
				hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
				for i := len(hops) - 1; i >= 0; i-- {
					a, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
					if err != nil {
						break
					}
					r.RemoteAddr = netip.AddrPortFrom(a, 0).String()
					if !is(a) {
						break
					}
				}
				if strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
					r.Header.Set(forwardedTLS, "1")
				}
				if host := r.Header.Get("X-Forwarded-Host"); host != "" && !strings.Contains(host, ",") {
					r.Host = host
				}
			}
			next.ServeHTTP(w, r)
		})
	}
}

// knownHosts are the names that browsers may know this server by, besides addresses and localhost: its own, and those
// given. Any other that leads here was made to (DNS rebinding).
func knownHosts(given []string) []string {
	hosts := slices.Clone(given)
	if name, err := os.Hostname(); err == nil && name != "" {
		hosts = append(hosts, name, name+".local")
	}
	return hosts
}

// localAddresses are those of this machine that others on the network reach.
func localAddresses() []netip.Addr {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var v4, v6 []netip.Addr
	for _, a := range all {
		n, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		ip, ok := netip.AddrFromSlice(n.IP)
		ip = ip.Unmap()
		switch {
		case !ok || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsMulticast():
		case ip.Is4():
			v4 = append(v4, ip)
		default:
			v6 = append(v6, ip)
		}
	}
	return append(v4, v6...)
}

// baseAddresses are how browsers reach a server that listens on addr: names first, then the addresses of the network.
func baseAddresses(addr net.Addr, hosts []string, overTLS bool) []string {
	scheme := "http"
	if overTLS {
		scheme = "https"
	}
	at, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return []string{scheme + "://" + addr.String()}
	}
	var list []string
	add := func(host string) {
		list = append(list, scheme+"://"+net.JoinHostPort(host, fmt.Sprint(at.Port())))
	}
	for _, h := range hosts {
		if name, isTLS := strings.CutSuffix(h, ":443"); isTLS { // a proxy before this server, as browsers see it
			list = append(list, "https://"+name)
			continue
		}
		if strings.Contains(h, ":") { // the same on another port
			list = append(list, scheme+"://"+h)
			continue
		}
		add(h)
	}
	if !at.Addr().IsUnspecified() {
		add(at.Addr().Unmap().String())
		return list
	}
	for _, a := range localAddresses() {
		if at.Addr().Is4() && !a.Is4() {
			continue
		}
		add(a.String())
	}
	if len(list) == 0 {
		add("127.0.0.1")
	}
	return list
}

// joinAddresses are those of the join page with the code: what the instructor's own browser uses comes first, unless only
// this machine knows it.
func joinAddresses(addresses []string, r *http.Request, code string) []string {
	list := slices.Clone(addresses)
	if r != nil {
		host := hostname(r.Host)
		ip, err := netip.ParseAddr(host)
		if !strings.EqualFold(host, "localhost") && (err != nil || !ip.IsLoopback()) {
			own := originOf(r)
			list = append([]string{own}, slices.DeleteFunc(list, func(a string) bool { return a == own })...)
		}
	}
	for i := range list {
		list[i] += "/class?" + url.Values{"code": {code}}.Encode()
	}
	return list
}

// linkFile has the token of the instructor's link that is printed at each start.
const linkFile = "instructor.token"

// KeepLink puts the token of a new instructor's link in the place of the one before, which had a hash, if it is this data
// folder's server that prints it.
func KeepLink(dataDir string, before []byte, token string) error {
	path := filepath.Join(classFolder(dataDir), linkFile)
	b, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(class.HashToken(strings.TrimSpace(string(b))), before) {
		return nil // another server keeps it, or nobody does
	}
	return whole.Write(path, []byte(token+"\n"))
}

// firstLink makes the first class of a store that has none, and gives what is printed at the start: the class, and the link
// of its instructor. The token is kept in the data folder, for the store has only its hash; a server that came to a store
// that others use has no link.
func (c *course) firstLink(ctx context.Context) (*class.Class, string, error) {
	path := filepath.Join(c.dir, linkFile)
	b, err := os.ReadFile(path)
	if token := strings.TrimSpace(string(b)); err == nil && token != "" {
		k, err := c.store.ClassByToken(ctx, class.HashToken(token))
		if err == nil {
			return &k, token, nil
		}
		if !errors.Is(err, class.ErrNotFound) {
			return nil, "", err
		}
	}
	all, err := c.store.Classes(ctx)
	if err != nil {
		return nil, "", err
	}
	// The servers on a store have its classes in common: a new one makes none where there is one.
	for i := range all {
		if all[i].State == class.Open {
			return &all[i], "", nil
		}
	}
	k, token, err := c.makeClass(ctx, firstClass, "UTC")
	if err != nil {
		return nil, "", err
	}
	return k, token, whole.Write(path, []byte(token+"\n"))
}

// announce prints what the instructor needs to begin.
func (s *Server) announce(ctx context.Context, o Options) error {
	c := s.course
	k, token, err := c.firstLink(ctx)
	if err != nil {
		return err
	}
	if token != "" {
		_, _ = fmt.Fprintf(o.Out, "instructor link: %s/class/i/%s\n", c.addresses[0], token)
	} else {
		_, _ = fmt.Fprintf(o.Out, "instructor link: as the server that made the class %q printed it. Lost? labserver class link makes another and ends that one\n", k.Name)
	}
	_, _ = fmt.Fprintf(o.Out, "join code: %s\n", class.ShowCode(k.Code))
	for _, a := range joinAddresses(c.addresses, nil, k.Code) {
		_, _ = fmt.Fprintf(o.Out, "join at: %s\n", a)
	}
	if token != "" {
		return nil
	}
	all, err := c.store.Classes(ctx)
	for i := range all {
		if all[i].State == class.Open && all[i].ID != k.ID {
			_, _ = fmt.Fprintf(o.Out, "class %q has join code: %s\n", all[i].Name, class.ShowCode(all[i].Code))
		}
	}
	return err
}
