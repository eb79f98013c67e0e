package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/labs"
)

// labserver runs a command line in this process.
func labserver(t *testing.T, in string, args ...string) (out, errs string, status int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var o, e bytes.Buffer
	status = execute(ctx, args, streams{strings.NewReader(in), &o, &e})
	return o.String(), e.String(), status
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRefusals(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	csv := write(t, "good.csv", "key,n\na,1\nb,2\n")
	notDir := write(t, "file", "x")
	notDatabase := write(t, "weir.db", strings.Repeat("no database", 100))
	words := func(s string) []string { return strings.Fields(s) }
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   []string
	}{
		{"unknown verb", words("rum backpressure"), 2, []string{`no command "rum"`, "did you mean labserver run?"}},
		{"unknown flag", words("run backpressure --fro 3s"), 2, []string{"--fro", "labserver run --help"}},
		{"no lab", words("run"), 2, []string{"needs a LAB"}},
		{"two labs", words("run backpressure key-groups"), 2, []string{`unexpected "key-groups"`}},
		{"unknown lab", words("run backpresure"), 2, []string{`no lab "backpresure"`, "did you mean backpressure?"}},
		{"unknown knob", words("run backpressure --set debloatt=true"), 2, []string{"knob debloatt", "did you mean debloat"}},
		{"a knob of another lab", words("run backpressure --set fanOut=3"), 2, []string{"fanOut", "another lab has it"}},
		{"value out of range", words("run backpressure --set parallelism=1000"), 2, []string{"knob parallelism", `"1000"`, "from 1 to 64"}},
		{"value of the wrong kind", words("run backpressure --set rate=fast"), 2, []string{"knob rate", `"fast" is not a number`}},
		{"a switch with a number", words("run backpressure --set debloat=3"), 2, []string{"knob debloat", "true or false"}},
		{"a flag that is near another", words("run backpressure --sett rate=5"), 2, []string{"--sett", "did you mean --set?"}},
		{"a flag that needs a switch", words("run backpressure --json=maybe"), 2, []string{`--json "maybe": give true or false`}},
		{"a flag that needs a number", words("keygroup --parallelism two 5"), 2, []string{`--parallelism "two": that is not a whole number`}},
		{"a number too large", words("keygroup --parallelism 99999999999999999999 5"), 2, []string{"--parallelism", "too large"}},
		{"an empty file name", []string{"run", "key-groups", "--input", "", "--key", "dest"}, 2, []string{"--input is empty"}},
		{"an empty checkpoint", []string{"run", "rescale", "--restore", "", "--for", "1s"}, 2, []string{"--restore is empty"}},
		{"half a knob", words("run backpressure --set debloat"), 2, []string{"KNOB=VALUE"}},
		{"parallelism above max parallelism", words("run key-groups --set parallelism=8 --set maxParallelism=4"), 2, []string{"knob parallelism", "8", "maxParallelism 4"}},
		{"a later change that is wrong", words("run backpressure --at 10s:rate=-5"), 2, []string{"--at 10s", "knob rate", "out of range"}},
		{"a time that is none", words("run backpressure --at soon:rate=5"), 2, []string{"--at", `"soon" is not a time`}},
		{"an action that is none", words("run backpressure --at 10s:checkpiont"), 2, []string{`"checkpiont" is no action`, "one of checkpoint, savepoint"}},
		{"an action that needs a number", words("run backpressure --at 10s:rescale"), 2, []string{"--at 10s:parallelism=3"}},
		{"a change after the end", words("run backpressure --at 20s:rate=5 --for 20s"), 2, []string{"--at 20s:rate=5", "below the 20s of --for"}},
		{"an action that the lab has nothing for", words("run backpressure --set rate=100 --at 1ms:compact --for 30s"), 1, []string{"--at 1ms:compact", "no keyed state"}},
		{"a length that is none", words("run backpressure --for long"), 2, []string{`--for "long": that is not a time`}},
		{"a length without a unit", words("run backpressure --for 30"), 2, []string{`--for "30": that is not a time`, "30s"}},
		{"a length of nothing", words("run backpressure --for 0"), 2, []string{"--for 0s", "above 0"}},
		{"a record in no folder", words("run backpressure --record no/such/run.weir"), 2, []string{"--record no/such/run.weir: no such file or directory: give"}},
		{"a negative length", words("run backpressure --for -3s"), 2, []string{"--for", "above 0"}},
		{"missing file", words("run key-groups --input nosuch.csv --key a"), 2, []string{"nosuch.csv"}},
		{"a folder", []string{"run", "key-groups", "--input", t.TempDir(), "--key", "a"}, 2, []string{"folder"}},
		{"empty file", []string{"run", "key-groups", "--input", write(t, "empty.csv", ""), "--key", "a"}, 2, []string{"empty.csv", "empty"}},
		{"binary file", []string{"run", "key-groups", "--input", write(t, "pic.csv", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00"), "--key", "a"}, 2, []string{"pic.csv"}},
		{"ragged file", []string{"run", "key-groups", "--input", write(t, "ragged.csv", "a,b\n1,2\n3\n"), "--key", "a"}, 2, []string{"ragged.csv", "line 3"}},
		{"ragged NDJSON", []string{"run", "key-groups", "--input", write(t, "r.ndjson", "{\"a\":1}\n{\"a\":\n"), "--key", "a"}, 2, []string{"r.ndjson", "line 2"}},
		{"missing column", []string{"run", "key-groups", "--input", csv, "--key", "dest"}, 2, []string{"good.csv", `"dest"`, "key, n"}},
		{"no column", []string{"run", "key-groups", "--input", csv}, 2, []string{"--key", "key, n"}},
		{"a column without a file", words("run key-groups --key dest"), 2, []string{"--input"}},
		{"keys that are no numbers", []string{"run", "key-groups", "--input", csv, "--key", "key", "--set", "keyType=long"}, 2, []string{"good.csv line 2", `"a"`}},
		{"a file for a lab that takes none", []string{"run", "backpressure", "--input", csv, "--key", "key"}, 2, []string{"takes no file"}},
		{"a checkpoint that is none", []string{"run", "key-groups", "--restore", filepath.Join(t.TempDir(), "chk-9"), "--for", "1s"}, 1, []string{"chk-9"}},
		{"port in use", []string{"serve", "--addr", taken.Addr().String(), "--data", t.TempDir()}, 1, []string{"in use", "--addr"}},
		{"an address without a port", words("serve --addr 127.0.0.1"), 2, []string{"--addr", "not HOST:PORT"}},
		{"a port that is none", words("serve --addr 127.0.0.1:99999"), 2, []string{"--addr", `"99999" is no port`}},
		{"a database that is none", []string{"serve", "--class", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--db", "sqlite:" + notDatabase}, 1, []string{"database sqlite:" + notDatabase}},
		{"a database without a path", []string{"serve", "--class", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--db", "sqlite:"}, 2, []string{"--db", "sqlite:PATH"}},
		{"a class's database that is not there", []string{"class", "list", "--data", "nosuch"}, 2, []string{"nosuch", "--data"}},
		{"no exercise", words("new"), 2, []string{"needs an EXERCISE"}},
		{"an exercise into a file", []string{"new", "debloater", "--dir", notDir}, 2, []string{"--dir " + notDir, "not a folder"}},
		{"an exercise into no folder", []string{"new", "debloater", "--dir", "/dev/null/x"}, 1, []string{"/dev/null/x", "not a directory", "--dir"}},
		{"a server's folder without a key", []string{"check", "debloater", "--data", t.TempDir()}, 2, []string{"--data", "no key"}},
		{"help on nothing", words("help nothing"), 2, []string{`no command "nothing"`}},
		{"completion for no shell", words("completion csh"), 2, []string{`"csh"`, "bash, zsh"}},
		{"data folder not writable", []string{"serve", "--addr", "127.0.0.1:0", "--data", filepath.Join(notDir, "data")}, 1, []string{"data", "not writable", "--data"}},
		{"the same without a verb", []string{"--addr", "127.0.0.1:0", "--data", filepath.Join(notDir, "data")}, 1, []string{"not writable"}},
		{"key of the wrong type", words("keygroup --type int 5 x"), 2, []string{`"x"`, "int"}},
		{"unknown key type", words("keygroup --type text 5"), 2, []string{"--type", `"text"`}},
		{"too many subtasks", words("keygroup --parallelism 300 5"), 2, []string{"--parallelism", "300", "128"}},
		{"no keys", words("keygroup"), 2, []string{"needs keys"}},
		{"unknown bench", words("bench sort"), 2, []string{`no bench "sort"`}},
		{"a bench that is near another", words("bench shufle"), 2, []string{"did you mean labserver bench shuffle?"}},
		{"no bench", words("bench"), 2, []string{"shuffle"}},
		{"a bench of nothing", words("bench shuffle --records 0"), 2, []string{"--records"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, errs, status := labserver(t, "", c.args...)
			if status != c.status {
				t.Errorf("status %d, want %d: %s", status, c.status, errs)
			}
			if out != "" && (status == 2 || !strings.Contains(errs, "labserver: run ")) { // a run that failed has readings
				t.Errorf("standard output: %q", out)
			}
			if strings.Count(errs, "\n") != 1 || strings.Contains(errs, "Usage:") {
				t.Errorf("not one line: %q", errs)
			}
			for _, s := range c.says {
				if !strings.Contains(errs, s) {
					t.Errorf("%q does not say %q", errs, s)
				}
			}
		})
	}
}

func TestKeygroup(t *testing.T) {
	groups := func(out string) (got []int) {
		for line := range strings.Lines(out) {
			var p labs.KeyPlace
			if err := json.Unmarshal([]byte(line), &p); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			got = append(got, p.KeyGroup)
		}
		return got
	}
	var keys []string
	for n := range 16 {
		keys = append(keys, json.Number(string(rune('0'+n/10))+string(rune('0'+n%10))).String())
	}
	want := "[94 86 127 113 7 126 18 113 15 51 67 102 50 1 27 70]"
	out, errs, status := labserver(t, "", append([]string{"keygroup"}, keys...)...)
	if got := groups(out); status != 0 || errs != "" || sprint(got) != want {
		t.Errorf("arguments: %v %q %d", got, errs, status)
	}
	out, _, status = labserver(t, strings.Join(keys, "\r\n"), "keygroup", "-")
	if got := groups(out); status != 0 || sprint(got) != want {
		t.Errorf("standard input: %v %d", got, status)
	}
	if out, errs, status = labserver(t, "", "keygroup", "--type", "string", "--max-parallelism", "256", "user-42"); status != 0 || sprint(groups(out)) != "[148]" {
		t.Errorf("user-42 of 256: %s%s", out, errs)
	}
	if out, errs, status = labserver(t, "", "keygroup", "1", "-5", "--type", "int", "-7"); status != 0 || strings.Count(out, "\n") != 3 || !strings.Contains(out, `"key":"-5"`) {
		t.Errorf("negative keys: %s%s", out, errs)
	}
	if out, errs, status = labserver(t, "1\nx\n", "keygroup", "-"); status != 2 || strings.Count(out, "\n") != 1 || !strings.Contains(errs, "line 2") {
		t.Errorf("a wrong line: %q %q %d", out, errs, status)
	}
}

func sprint(v any) string {
	b, _ := json.Marshal(v)
	return strings.ReplaceAll(string(b), ",", " ")
}

func TestLabsAndVersion(t *testing.T) {
	out, errs, status := labserver(t, "", "labs", "--json")
	var list []labs.LabInfo
	if err := json.Unmarshal([]byte(out), &list); err != nil || status != 0 || len(list) != len(labs.All()) || list[0].Knobs[0].Name != "rate" {
		t.Errorf("labs --json: %v %s%s", err, out, errs)
	}
	if out, _, status = labserver(t, "", "labs"); status != 0 || !strings.Contains(out, "backpressure") || !strings.Contains(out, "bufferTimeoutMs") {
		t.Errorf("labs: %s", out)
	}
	if out, _, status = labserver(t, "", "version"); status != 0 || !strings.HasPrefix(out, "weir ") {
		t.Errorf("version: %s", out)
	}
	if out, _, status = labserver(t, "", "run", "--help"); status != 0 || !strings.Contains(out, "--checkpoint-dir") {
		t.Errorf("help: %s", out)
	}
}
