package remote

import (
	"fmt"
	"net/url"
	"strings"

	"weir/class"
)

// Address is where a class is and what lets one in, as a learner has it.
type Address struct {
	// Server is the scheme and the host, such as https://lab.example.org.
	Server string
	// Code is the join code; empty where the address had none.
	Code string
	// Token is that of a personal link; empty for an address that is none.
	Token string
}

// ParseAddress reads the address at which learners join, such as http://192.0.2.7:8090/class?code=7KQ29MXD, a personal link
// /class/p/…, or the bare address of the server. A code that is given beside it goes before the one in it.
func ParseAddress(text, code string) (Address, error) {
	var a Address
	full := strings.TrimSpace(text)
	if full != "" && !strings.Contains(full, "://") {
		full = "http://" + full
	}
	u, err := url.Parse(full)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		// The text is not repeated whole: it may have a personal token in it.
		return a, fmt.Errorf("%q is no address of a class: give the one at which learners join, such as http://192.0.2.7:8090/class?code=7KQ29MXD", shortened(text))
	case u.User != nil:
		return a, fmt.Errorf("an address of a class has no user and password before the host %s", u.Host)
	}
	a.Server = u.Scheme + "://" + strings.ToLower(u.Host)
	switch path := strings.Trim(u.Path, "/"); {
	case path == "" || path == "class":
	case strings.HasPrefix(path, "class/p/") && !strings.Contains(path[len("class/p/"):], "/"):
		a.Token = path[len("class/p/"):]
	case strings.HasPrefix(path, "class/i/"):
		return Address{}, fmt.Errorf("this is the link of the instructor of %s: a learner joins with the join address, which has the code", a.Server)
	default:
		return Address{}, fmt.Errorf("%s is no address of a class: give the one at which learners join, such as %s/class?code=7KQ29MXD", a.Server+"/"+shortened(path), a.Server)
	}
	if code == "" {
		code = u.Query().Get("code")
	}
	if code != "" {
		if a.Code, err = class.ParseCode(code); err != nil {
			return Address{}, fmt.Errorf("%q is no join code: it has 8 letters and digits, such as 7KQ2-9MXD", shortened(code))
		}
	}
	return a, nil
}

func shortened(s string) string {
	const most = 24
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
