package main

import (
	"slices"
	"strings"
	"testing"
)

func TestCompletion(t *testing.T) {
	for _, c := range []struct {
		typed   string // the last word may be empty: | stands for it
		has     []string
		without string
	}{
		{"run |", []string{"backpressure", "event-time"}, "debloater"},
		{"run back", []string{"backpressure", "backends"}, "skew"},
		{"run backpressure |", nil, "skew"},
		{"run backpressure --set deb", []string{"debloat=", "debloatTargetMs="}, "rate="},
		{"run backpressure --set debloat=", []string{"debloat=true", "debloat=false"}, "debloat=1"},
		{"run backpressure --set transport=", []string{"transport=tcp", "transport=memory"}, "transport=quic"},
		{"run nosuch --set |", nil, "rate="},
		{"run backpressure --at 20s:ch", []string{"20s:checkpoint", "20s:checkpointIntervalMs="}, "20s:rescale"},
		{"run backpressure --at 20s:r", []string{"20s:rate=", "20s:restart"}, "20s:rescale"},
		{"check deb", []string{"debloater"}, "credit"},
		{"check credit |", []string{"debloater"}, "backpressure"},
		{"new |", []string{"all", "debloater"}, "backpressure"},
		{"new debloater |", nil, "credit"},
		{"check --format |", []string{"text", "json", "junit", "gradescope"}, "xml"},
		{"keygroup --type |", []string{"long", "string"}, "text"},
		{"completion |", []string{"bash", "fish"}, "csh"},
	} {
		words := strings.Fields(strings.TrimSuffix(c.typed, "|"))
		if strings.HasSuffix(c.typed, "|") {
			words = append(words, "")
		}
		out, _, status := labserver(t, "", append([]string{"__complete"}, words...)...)
		var offered []string
		for line := range strings.Lines(out) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			if strings.HasPrefix(word, words[len(words)-1]) { // as the shell chooses
				offered = append(offered, word)
			}
		}
		for _, want := range c.has {
			if !slices.Contains(offered, want) {
				t.Errorf("%q offers %q, want %s among them", c.typed, offered, want)
			}
		}
		if status != 0 || slices.Contains(offered, c.without) {
			t.Errorf("%q: status %d, offers %q, with %s", c.typed, status, offered, c.without)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out, errs, status := labserver(t, "", "completion", shell); status != 0 || errs != "" || !strings.Contains(out, "labserver") {
			t.Errorf("completion %s: status %d, %q", shell, status, errs)
		}
	}
}

// Each command says how it is used, with an example where it takes anything.
func TestHelp(t *testing.T) {
	root := newRoot(streams{})
	for _, c := range root.Commands() {
		if !c.HasExample() && c.Name() != "version" && c.Name() != "help" {
			t.Errorf("%s has no example", c.Name())
		}
		out, errs, status := labserver(t, "", c.Name(), "--help")
		again, _, _ := labserver(t, "", "help", c.Name())
		if status != 0 || errs != "" || out != again || !strings.Contains(out, "Usage:") {
			t.Errorf("%s --help: status %d, %q; help %s says %q", c.Name(), status, errs, c.Name(), again)
		}
	}
}
