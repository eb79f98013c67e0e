// Package sandbox builds a learner's core to WebAssembly and calls it in a child process that has no files, no network,
// no environment, little memory and little time. Nothing in it judges: a core's only way out is the bytes that it answers.
package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // the main package around a core
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"weir/exercises/kit"
	"weir/labs"
	"weir/whole"
)

//go:embed main.go.txt
var mainSource []byte

// buildTime is how long the compiler may take.
var buildTime = 90 * time.Second

const mostErrors = 8 // lines of the compiler

// BuildError says why there is no module. NoGo is set if the machine, not the core, is at fault.
type BuildError struct {
	Text labs.Text
	NoGo bool
}

func (e *BuildError) Error() string { return e.Text.En }

// Build makes a module of an exercise's interface and a core.go, and answers its file, which is kept for the next time.
// The error is a *BuildError if a learner can do something about it.
func Build(ctx context.Context, e *kit.Exercise, source []byte) (string, error) {
	source = kit.Local(source)
	if p := kit.CoreProblem(source); p != (labs.Text{}) {
		return "", &BuildError{Text: p}
	}
	files, err := kit.Module(e)
	if err != nil {
		return "", err
	}
	files[kit.CoreFile] = source
	files["main/main.go"] = mainSource
	goTool, version, err := findGo(ctx)
	if err != nil {
		return "", err
	}
	dir, err := moduleDir()
	if err != nil {
		return "", err
	}
	wasm := filepath.Join(dir, digest(version, files)+".wasm")
	if info, err := os.Stat(wasm); err == nil && info.Size() > 0 {
		now := time.Now()
		_ = os.Chtimes(wasm, now, now) // the least used go first
		return wasm, nil
	}
	if err := compile(ctx, goTool, files, wasm); err != nil {
		return "", err
	}
	tidy()
	return wasm, nil
}

func digest(version string, files map[string][]byte) string {
	h := sha256.New()
	_, _ = fmt.Fprintln(h, version)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_, _ = fmt.Fprintln(h, name, len(files[name]))
		h.Write(files[name])
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// compile runs the compiler in a folder that is gone afterwards.
func compile(ctx context.Context, goTool string, files map[string][]byte, wasm string) (err error) {
	dir, err := os.MkdirTemp("", "weir-core-")
	if err != nil {
		return fmt.Errorf("building the core: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	temp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		return fmt.Errorf("building the core: %w", err)
	}
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("building the core: %w", err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return fmt.Errorf("building the core: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, buildTime)
	defer cancel()
	made := filepath.Join(dir, "core.wasm")
	out := &head{most: 256 << 10}
	cmd := exec.CommandContext(ctx, goTool, "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", made, "./main")
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, goEnv(temp), out, out
	cmd.WaitDelay = time.Second
	groupOf(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("building the core: %w", err)
	}
	limitCompiler(cmd.Process.Pid)
	failed := cmd.Wait()
	_ = cmd.Cancel() // what it may have left of its group
	switch {
	case failed == nil:
		return keep(made, wasm)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &BuildError{Text: labs.Text{
			En: fmt.Sprintf("The compiler did not finish core.go within %v.", buildTime),
			Zh: fmt.Sprintf("编译器没能在 %v 内编译完 core.go。", buildTime),
		}}
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return refusedBy(strings.ReplaceAll(out.String(), dir, "."))
}

// notTheirs is what the compiler says of files that no learner wrote.
var notTheirs = regexp.MustCompile(`(?m)^(\./)?(wire|api)/\w+\.go:.*`)

// refusedBy makes of what the compiler said an error of the core or, where it fails at what is not the learner's, of the
// machine: with a full disk it takes the standard library for missing.
func refusedBy(said string) *BuildError {
	if line := notTheirs.FindString(said); line != "" {
		line = shortened(line, 300)
		return &BuildError{NoGo: true, Text: labs.Text{
			En: "The compiler does not work on this machine: " + line + ". See that the disk is not full and that Go is whole (go build std).",
			Zh: "本机的编译器不能工作：" + line + "。请检查磁盘是否已满、Go 的安装是否完整（go build std）。",
		}}
	}
	return &BuildError{Text: compilerText(said)}
}

// keep moves a module to where it is looked for. It appears as a whole.
func keep(made, wasm string) error {
	data, err := os.ReadFile(made)
	if err != nil {
		return fmt.Errorf("building the core: %w", err)
	}
	if err := whole.Write(wasm, data); err != nil {
		return fmt.Errorf("keeping the core: %w", err)
	}
	return nil
}

// goEnv is all that the compiler sees of the environment; temp is for its own files.
func goEnv(temp string) []string {
	env := []string{
		"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GO111MODULE=on",
		"GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local", "GOWORK=off", "GOENV=off", "GOFLAGS=", "GOTELEMETRY=off",
		"GOTMPDIR=" + temp, "TMPDIR=" + temp, "GOMODCACHE=" + filepath.Join(temp, "mod"),
	}
	names := []string{"GOCACHE", "HOME", "PATH", "XDG_CACHE_HOME"}
	if runtime.GOOS == "windows" {
		names = append(names, "LocalAppData", "SystemRoot", "UserProfile", "TEMP", "TMP")
	}
	for _, name := range names {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

var (
	whereInCore = regexp.MustCompile(`(^|[\s(])(\./|\.\./)*core\.go:`)
	cgoExcluded = "build constraints exclude all Go files"
)

// compilerText shortens what the compiler says to the lines about core.go.
func compilerText(out string) labs.Text {
	if strings.Contains(out, "out of memory") || strings.Contains(out, "cannot allocate memory") {
		return labs.Text{
			En: "The compiler needs more memory for core.go than it is given: make its tables smaller.",
			Zh: "编译 core.go 需要的内存超过了限额：请把其中的表变小。",
		}
	}
	var lines []string
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		lines = append(lines, shortened(whereInCore.ReplaceAllString(line, "${1}core.go:"), 300))
	}
	if i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "core.go:") }); i > 0 {
		lines = lines[i:]
	}
	more := len(lines) - mostErrors
	if more > 0 {
		lines = append(lines[:mostErrors], fmt.Sprintf("… (%d)", more))
	}
	said := strings.Join(lines, "\n")
	if said == "" {
		said = "go build"
	}
	if strings.Contains(said, cgoExcluded) {
		return labs.Text{
			En: "core.go is left out of the build: take away its build constraints (//go:build).\n" + said,
			Zh: "core.go 被排除在构建之外：请去掉它的构建约束（//go:build）。\n" + said,
		}
	}
	return labs.Text{En: "core.go does not compile:\n" + said, Zh: "core.go 不能编译：\n" + said}
}

// findGo looks for the compiler, and for its version.
func findGo(ctx context.Context) (path, version string, err error) {
	refused := func(en, zh string) (string, string, error) {
		return "", "", &BuildError{NoGo: true, Text: labs.Text{
			En: en + " Install Go " + kit.GoVersion + " or later from https://go.dev/dl/ to check code exercises; the other kinds work without.",
			Zh: zh + "请从 https://go.dev/dl/ 安装 Go " + kit.GoVersion + " 或更新版本来检查代码练习；其他种类的练习不需要它。",
		}}
	}
	path, err = exec.LookPath("go")
	if err != nil {
		return refused("There is no go command on the PATH.", "PATH 上没有 go 命令。")
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "env", "GOVERSION")
	cmd.Dir, cmd.Env = os.TempDir(), append(goEnv(os.TempDir()), "GOOS=", "GOARCH=")
	cmd.WaitDelay = time.Second
	groupOf(cmd)
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return "", "", ctx.Err()
	}
	version = string(bytes.TrimSpace(out))
	if err != nil || !enough(version) {
		return refused(fmt.Sprintf("The go command at %s is %q, which is too old.", path, version), fmt.Sprintf("位于 %s 的 go 命令是 %q，版本太旧。", path, version))
	}
	return path, version, nil
}

// enough compares a version such as go1.26.8 or devel go1.27-abc with what is needed.
func enough(version string) bool {
	_, number, ok := strings.Cut(version, "go")
	var major, minor, needMajor, needMinor int
	if n, _ := fmt.Sscanf(number, "%d.%d", &major, &minor); !ok || n != 2 {
		return false
	}
	_, _ = fmt.Sscanf(kit.GoVersion, "%d.%d", &needMajor, &needMinor)
	return major > needMajor || major == needMajor && minor >= needMinor
}
