// Command build bundles the scripts and styles of the pages: web/ts and web/css into web/static/dist, which the server
// embeds. It needs what `npm ci` installs (uPlot) and nothing of Node.js itself.
//
//	go run ./web/build
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	if err := build("."); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

// build bundles the pages of the repository whose root is dir.
func build(dir string) error {
	root, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(root, "web", "ts")); err != nil {
		return fmt.Errorf("%s is not the root of the repository: run it from there", root)
	}
	if _, err := os.Stat(filepath.Join(root, "node_modules", "uplot")); err != nil {
		return fmt.Errorf("node_modules/uplot is missing: run npm ci first")
	}
	dist := filepath.Join(root, "web", "static", "dist")
	if err := os.RemoveAll(dist); err != nil {
		return err
	}
	result := api.Build(api.BuildOptions{
		AbsWorkingDir: root,
		EntryPoints:   []string{"web/ts/home.ts", "web/ts/lab.ts", "web/ts/exercises.ts", "web/ts/exercise.ts", "web/ts/class.ts", "web/ts/join.ts", "web/ts/classhome.ts", "web/ts/away.ts", "web/ts/wall.ts", "web/css/weir.css"},
		EntryNames:    "[name]",
		Outdir:        dist,
		Bundle:        true,
		Write:         true,
		Format:        api.FormatESModule,
		Target:        api.ES2022,
		// The styles use what the design does: nesting is compiled away, the rest is common to the browsers of 2023.
		Engines:           []api.Engine{{Name: api.EngineChrome, Version: "111"}, {Name: api.EngineFirefox, Version: "115"}, {Name: api.EngineSafari, Version: "16.4"}},
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		LegalComments:     api.LegalCommentsEndOfFile,
		LogLevel:          api.LogLevelWarning,
	})
	if n := len(result.Errors); n > 0 {
		return fmt.Errorf("%d errors", n)
	}
	return nil
}
