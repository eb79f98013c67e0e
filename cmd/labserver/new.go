package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weir/exercises"
	"weir/exercises/kit"
)

func newNew(s streams) *cobra.Command {
	var dir string
	var force bool
	c := &cobra.Command{
		Use:   "new EXERCISE|all [--dir DIR]",
		Short: "Writes what an exercise begins with into a folder of yours",
		Long: "Writes DIR/<exercise> with the task and what it begins with: core.go with its interface, or answer.json.\n" +
			"What is there already stays as it is, unless --force is given.",
		Example:               "  labserver new debloater\n  labserver new all --dir course",
		Args:                  exactly("EXERCISE"),
		ValidArgsFunction:     completeExercises(1),
		DisableFlagsInUseLine: true,
		RunE: func(_ *cobra.Command, args []string) error {
			list := exercises.All()
			if args[0] != "all" {
				e, err := exercises.Find(args[0])
				if err != nil {
					return asUsage(err)
				}
				list = []*kit.Exercise{e}
			}
			if info, err := os.Stat(dir); err == nil && !info.IsDir() {
				return usage("--dir %s: that is not a folder: give one to make the exercise's folder in", dir)
			}
			for _, e := range list {
				if err := begin(e, dir, force, s); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringVar(&dir, "dir", ".", "`DIR` to make the exercise's folder in")
	c.Flags().BoolVar(&force, "force", false, "overwrite your work with the starter")
	completeFolder(c, "dir")
	return c
}

// begin writes the files of one exercise.
func begin(e *kit.Exercise, dir string, force bool, s streams) error {
	files, err := beginning(e)
	if err != nil {
		return err
	}
	folder := filepath.Join(dir, e.ID)
	var kept, replaced []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if exists(path) {
			same, err := os.ReadFile(path)
			switch {
			case err == nil && bytes.Equal(same, files[name]):
				continue
			case !force:
				kept = append(kept, name)
				continue
			}
			replaced = append(replaced, name)
		}
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, files[name], 0o644)
		}
		if err != nil {
			return fmt.Errorf("cannot write %s: %w: give another folder with --dir", path, reason(err))
		}
	}
	if len(replaced) > 0 {
		_, _ = fmt.Fprintf(s.err, "labserver: overwritten in %s: %s\n", folder, strings.Join(replaced, ", "))
	}
	if len(kept) > 0 {
		_, _ = fmt.Fprintf(s.err, "labserver: kept in %s, since they were changed: %s; --force overwrites them\n", folder, strings.Join(kept, ", "))
	}
	_, err = fmt.Fprintln(s.out, folder)
	return err
}

// beginning are the files that a learner begins with, by their path in the exercise's folder.
func beginning(e *kit.Exercise) (map[string][]byte, error) {
	files := map[string][]byte{}
	if e.Kind == kit.Code {
		module, err := kit.Module(e)
		if err != nil {
			return nil, err
		}
		files = module
		if files[kit.CoreFile], err = kit.Starter(e); err != nil {
			return nil, err
		}
	}
	if e.Kind == kit.Predict && e.Question != nil {
		files[kit.AnswerFile] = unanswered(e.Question)
	}
	for from, name := range map[string]string{"task.en.md": "task.en.md", "task.zh.md": "task.zh.md", "starter/run.json": "run.json"} {
		if b, err := fs.ReadFile(e.Files, from); err == nil {
			files[name] = b
		}
	}
	return files, nil
}

// unanswered is an answer.json with every field and no answer.
func unanswered(q *kit.Question) []byte {
	var b bytes.Buffer
	b.WriteString("{")
	for i, f := range q.Fields {
		if i > 0 {
			b.WriteString(",")
		}
		name, _ := json.Marshal(f.Name) // a string always can be
		fmt.Fprintf(&b, "\n  %s: null", name)
	}
	b.WriteString("\n}\n")
	return b.Bytes()
}
