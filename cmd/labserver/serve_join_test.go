package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// What is asked wrongly comes as one line that names the flag, before anything is served.
func TestServeJoinRefusals(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"--name Ana", 2, "--join URL"},
		{"--join-ca x.pem", 2, "--join URL"},
		{"--class --join http://192.0.2.7", 2, "exclude each other"},
		{"--join ftp://192.0.2.7", 2, "at which learners join"},
		{"--join http://192.0.2.7/class/i/secret-of-the-teacher", 2, "link of the instructor"},
		{"--join http://192.0.2.7 --code 12", 2, "8 letters and digits"},
		{"--join http://192.0.2.7 --code 7KQ29MXD --name " + strings.Repeat("x", 61), 2, "--name"},
		{"--join http://192.0.2.7 --code 7KQ29MXD --addr 0.0.0.0:0", 2, "--addr"},
		{"--join http://192.0.2.7 --code 7KQ29MXD --addr 127.0.0.1:0 --join-ca " + data + "/none", 1, "--join-ca"},
		{"--join http://192.0.2.7 --addr 127.0.0.1:0", 1, "no join code"},
	} {
		out, errs, status := labserver(t, "", append([]string{"serve", "--data", data}, strings.Fields(c.args)...)...)
		if status != c.status || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, c.says) || strings.Contains(errs, "secret") {
			t.Errorf("%s: %d %q %q, want %d and a line that says %q", c.args, status, out, errs, c.status, c.says)
		}
	}
}
