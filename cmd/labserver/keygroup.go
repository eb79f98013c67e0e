package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"weir/engine/keygroup"
	"weir/engine/serde"
	"weir/labs"
)

func newKeygroup(s streams) *cobra.Command {
	var typ string
	var maxParallelism, parallelism int
	c := &cobra.Command{
		Use:   "keygroup [--type long|int|string|bool|double] [--max-parallelism 128] [--parallelism 2] [KEY... | -]",
		Short: "Says which key group and subtask each key goes to, one JSON line a key",
		Long: "Says which key group and subtask each key goes to, as Flink does: one JSON line a key.\n" +
			"With - it reads one key a line. Write -- before keys that begin with a dash and are no numbers.",
		Example: "  labserver keygroup 1 -5 42\n" +
			"  labserver keygroup --parallelism 3 --type string alice bob carol\n" +
			"  cut -d, -f1 flights.csv | labserver keygroup --type string -",
		Args:                  cobra.ArbitraryArgs,
		DisableFlagsInUseLine: true,
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := labs.ParseKeyType(typ)
			if err != nil {
				return usage("--type: %w", err)
			}
			if err := keygroup.CheckMaxParallelism(maxParallelism); err != nil {
				return usage("--max-parallelism: %w", err)
			}
			if parallelism < 1 || parallelism > maxParallelism {
				return usage("--parallelism: %d is not from 1 to the max parallelism of %d", parallelism, maxParallelism)
			}
			if len(args) == 0 {
				return usage("labserver keygroup needs keys: give KEY..., or - to read one a line")
			}
			p := &placer{t: t, maxParallelism: maxParallelism, parallelism: parallelism, out: bufio.NewWriter(s.out)}
			for i, a := range args { // all are tried before one is printed
				a = strings.TrimPrefix(a, shield)
				args[i] = a
				if _, err := serde.ParseKey(t, a); err != nil && a != "-" {
					return asUsage(err)
				}
			}
			for _, a := range args {
				if a == "-" {
					err = p.lines(s.in)
				} else {
					err = p.place(a, "")
				}
				if err != nil {
					break
				}
			}
			return errors.Join(err, p.out.Flush())
		},
	}
	c.Flags().StringVar(&typ, "type", "long", "`TYPE` of the keys: long, int, string, bool or double")
	c.Flags().IntVar(&maxParallelism, "max-parallelism", 128, "`NUMBER` of key groups")
	c.Flags().IntVar(&parallelism, "parallelism", 2, "`NUMBER` of subtasks")
	completeWords(c, "type", "long", "int", "string", "bool", "double")
	return c
}

// shield before an argument keeps -5 from being taken for a flag.
const shield = "\x00"

// shieldKeys puts it before the negative numbers among the arguments of keygroup that are not a flag's value.
func shieldKeys(args []string) []string {
	if len(args) == 0 || args[0] != "keygroup" {
		return args
	}
	out := make([]string, 0, len(args))
	for i, a := range args {
		isNumber := len(a) > 1 && a[0] == '-' && (a[1] == '.' || a[1] == 'I' || a[1] >= '0' && a[1] <= '9')
		isValue := strings.HasPrefix(args[max(i-1, 0)], "--") && len(args[max(i-1, 0)]) > 2 && !strings.Contains(args[max(i-1, 0)], "=")
		if isNumber && !isValue {
			a = shield + a
		}
		out = append(out, a)
	}
	return out
}

type placer struct {
	t                           serde.KeyType
	maxParallelism, parallelism int
	out                         *bufio.Writer
}

func (p *placer) place(text, where string) error {
	k, err := labs.PlaceKey(p.t, text, p.maxParallelism, p.parallelism)
	if err != nil {
		return usage("%s%w", where, err)
	}
	b, err := json.Marshal(k)
	if err != nil {
		return err
	}
	_, err = p.out.Write(append(b, '\n'))
	return err
}

// lines places one key a line. A line may be long: a key has no limit of its own.
func (p *placer) lines(r io.Reader) error {
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		text, err := in.ReadString('\n')
		if text != "" {
			text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
			if perr := p.place(text, fmt.Sprintf("standard input line %d: ", n)); perr != nil {
				return perr
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("standard input: %w", err)
		}
	}
}
