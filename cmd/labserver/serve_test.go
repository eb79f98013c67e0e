package main

import (
	"strings"
	"testing"
)

func TestServeRefusesWrongWords(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"serve --db sqlite:x.db", "--db is of a server of classes: give --class too"},
		{"serve --host lab.example.org", "--host is of a server of classes"},
		{"serve --class --tls-cert cert.pem", "--tls-cert and --tls-key belong together"},
		{"serve --class --db mysql://root:secret@db/x", "--db mysql:...: give sqlite:PATH or postgres://"},
		{"serve --class --trusted-proxy everyone", `--trusted-proxy "everyone": give a network such as 10.0.0.0/8`},
		{"serve --class --host http://lab.example.org", "without http://"},
		{"serve --class --max-sessions 0", "--max-sessions: give more than 0"},
	} {
		_, errs, status := labserver(t, "", strings.Fields(c.args)...)
		if status != 2 || !strings.Contains(errs, c.says) || strings.Contains(errs, "secret") {
			t.Errorf("%s: status %d, it said %q", c.args, status, errs)
		}
	}
}
