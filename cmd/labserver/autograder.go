package main

import (
	"archive/zip"
	_ "embed" // the scripts of an autograder
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"weir/exercises/kit"
)

//go:embed autograder/setup.sh
var autograderSetup string

//go:embed autograder/run_autograder
var autograderRun string

// writeAutograder packs this very program with the two scripts that Gradescope runs.
func writeAutograder(args []string, f *checkFlags, s streams) error {
	if len(args) == 0 {
		return usage("--autograder needs the EXERCISE to grade, or all")
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return usage("--autograder packs the program that runs, and Gradescope needs that for linux/amd64: this one is for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	list, err := chosen(args, f)
	if err != nil {
		return err
	}
	if exists(f.autograder) {
		return usage("--autograder %s: that file is there already; remove it first", f.autograder)
	}
	var ids []string
	goVersion := ""
	for _, e := range list {
		ids = append(ids, e.ID)
		if e.Kind == kit.Code {
			goVersion, _, _ = strings.Cut(runtime.Version(), " ")
		}
	}
	fill := strings.NewReplacer("@EXERCISES@", strings.Join(ids, " "), "@GO@", goVersion)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	out, err := os.Create(f.autograder)
	if err != nil {
		return fmt.Errorf("--autograder %s: %w: give a file in a folder that exists and can be written to", f.autograder, reason(err))
	}
	err = packAutograder(out, self, fill.Replace(autograderSetup), fill.Replace(autograderRun))
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, os.Remove(f.autograder))
	}
	_, err = fmt.Fprintln(s.out, f.autograder)
	return err
}

func packAutograder(to io.Writer, program, setup, run string) error {
	z := zip.NewWriter(to)
	add := func(name string, content io.Reader) error {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(0o755)
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = io.Copy(w, content)
		}
		return err
	}
	if err := add("setup.sh", strings.NewReader(setup)); err != nil {
		return err
	}
	if err := add("run_autograder", strings.NewReader(run)); err != nil {
		return err
	}
	f, err := os.Open(program)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := add("labserver", f); err != nil {
		return err
	}
	return z.Close()
}
