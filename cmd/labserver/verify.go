package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"weir/engine/golden"
)

func newVerify(s streams) *cobra.Command {
	v := verifier{streams: s}
	c := &cobra.Command{
		Use:   "verify PATH... [--json]",
		Short: "Replays golden files against the engine's own code, a line a file",
		Long: "Replays golden files, which hold what real Flink answered, against the engine's own code.\n" +
			"A PATH is a file, or a folder whose .json and .txt files are taken as far as they are golden files.\n" +
			"The exit status is 1 if a case is wrong or a file is damaged.",
		Example:               "  labserver verify testdata/golden\n  labserver verify --json keygroups.json",
		DisableFlagsInUseLine: true,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("labserver verify needs a PATH: a golden file or a folder of them")
			}
			files, err := goldenFiles(args)
			if err != nil {
				return err
			}
			return v.run(c.Context(), files)
		},
	}
	c.Flags().BoolVar(&v.asJSON, "json", false, "print one JSON object a file")
	return c
}

// goldenFile is a file to verify; one that was found in a folder may be of another sort.
type goldenFile struct {
	path  string
	found bool
}

// goldenFiles lists the files that the arguments name, in their order.
func goldenFiles(args []string) ([]goldenFile, error) {
	var files []goldenFile
	for _, path := range args {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, usage("%s: no such file or folder, expected a golden file or a folder of them", path)
		case err != nil:
			return nil, usage("%w", err)
		case info.Mode().IsRegular():
			files = append(files, goldenFile{path: path})
			continue
		case !info.IsDir():
			return nil, usage("%s is neither a file nor a folder", path)
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, usage("%w", err)
		}
		before := len(files)
		for _, e := range entries {
			if ext := strings.ToLower(filepath.Ext(e.Name())); !e.IsDir() && (ext == ".json" || ext == ".txt") {
				files = append(files, goldenFile{filepath.Join(path, e.Name()), true})
			}
		}
		if len(files) == before {
			return nil, usage("the folder %s has no .json and no .txt file", path)
		}
	}
	return files, nil
}

type verifier struct {
	streams
	asJSON bool
}

// verified is the line of one file.
type verified struct {
	File       string `json:"file"`
	Cases      int    `json:"cases"`
	Wrong      int    `json:"wrong"`
	FirstWrong string `json:"firstWrong"`
}

func (v *verifier) run(ctx context.Context, files []goldenFile) error {
	var failed []error
	var wrong, skipped []string
	replayed := 0
	for _, f := range files {
		if ctx.Err() != nil {
			return nil // interrupted: the lines so far are the result
		}
		report, err := golden.Replay(f.path)
		switch {
		case f.found && errors.Is(err, golden.ErrUnknown):
			skipped = append(skipped, f.path)
			continue
		case err != nil:
			failed = append(failed, err)
			continue
		}
		replayed++
		if report.Wrong > 0 {
			wrong = append(wrong, f.path)
		}
		if err := v.line(verified{f.path, report.Cases, report.Wrong, report.FirstWrong}); err != nil {
			return err
		}
	}
	if replayed == 0 && len(failed) == 0 {
		return usage("nothing was verified: there is %w in the folder", golden.ErrUnknown)
	}
	if len(wrong) > 0 {
		failed = append(failed, fmt.Errorf("not what Flink gives: %s", strings.Join(wrong, ", ")))
	}
	if len(skipped) > 0 {
		note := "left out, no golden files of a known sort: " + some(skipped)
		if len(failed) == 0 {
			_, err := fmt.Fprintln(v.err, "labserver:", note)
			return err
		}
		failed = append(failed, errors.New(note))
	}
	return joined(failed)
}

// some names a few of many.
func some(names []string) string {
	const most = 5
	if n := len(names) - most; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), n)
	}
	return strings.Join(names, ", ")
}

// joined puts several errors on one line.
func joined(failed []error) error {
	if len(failed) < 2 {
		return errors.Join(failed...)
	}
	text := make([]string, len(failed))
	for i, err := range failed {
		text[i] = err.Error()
	}
	return errors.New(strings.Join(text, "; "))
}

func (v *verifier) line(f verified) error {
	if v.asJSON {
		return printJSONLine(v.out, f)
	}
	text := "none wrong"
	if f.Wrong > 0 {
		text = fmt.Sprintf("%d wrong; first %s", f.Wrong, f.FirstWrong)
	}
	_, err := fmt.Fprintf(v.out, "%s: %d cases, %s\n", f.File, f.Cases, text)
	return err
}
