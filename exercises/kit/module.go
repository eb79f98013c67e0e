package kit

import (
	_ "embed" // the bytes of wire.go
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"

	"weir/labs"
)

// The files of a learner's folder.
const (
	CoreFile   = "core.go"
	AnswerFile = "answer.json"
	RecordFile = "run.weir"
)

// GoVersion is the oldest Go that builds a core: the first with //go:wasmexport.
const GoVersion = "1.24"

const (
	mostCoreBytes = 256 << 10
	wirePath      = "weir/exercises/kit/wire"
)

//go:embed wire/wire.go
var wireSource []byte

// apiPath is the import path of an exercise's interface in our repository.
var apiPath = regexp.MustCompile(`"weir/exercises/[0-9]{2}-[a-z0-9-]+/api"`)

// Local has our import paths changed into those of a learner's module, which is called exercise and needs no other.
func Local(source []byte) []byte {
	source = apiPath.ReplaceAll(source, []byte(`"exercise/api"`))
	return []byte(strings.ReplaceAll(string(source), strconv.Quote(wirePath), `"exercise/wire"`))
}

// Module answers the files that a core is built with, by their path: go.mod, api/ and wire/. The core itself is not among
// them.
func Module(e *Exercise) (map[string][]byte, error) {
	files := map[string][]byte{
		"go.mod":       []byte("module exercise\n\ngo " + GoVersion + "\n"),
		"wire/wire.go": wireSource,
	}
	entries, err := fs.ReadDir(e.Files, "api")
	if err != nil {
		return nil, fmt.Errorf("exercise %s: %w", e.ID, err)
	}
	for _, entry := range entries {
		name := path.Join("api", entry.Name())
		source, err := fs.ReadFile(e.Files, name)
		if err != nil {
			return nil, fmt.Errorf("exercise %s: %w", e.ID, err)
		}
		files[name] = Local(source)
	}
	return files, nil
}

// Starter is the core.go that a learner begins with.
func Starter(e *Exercise) ([]byte, error) {
	source, err := fs.ReadFile(e.Files, "starter/"+CoreFile)
	if err != nil {
		return nil, fmt.Errorf("exercise %s: %w", e.ID, err)
	}
	return Local(source), nil
}

// CoreProblem tells what is wrong with a core.go before it is built; it has nothing to say about most. What it lets pass
// can do no harm either: it saves a learner a longer message.
func CoreProblem(source []byte) labs.Text {
	if len(source) > mostCoreBytes {
		return labs.Text{
			En: fmt.Sprintf("core.go has %d bytes, %d are the most.", len(source), mostCoreBytes),
			Zh: fmt.Sprintf("core.go 有 %d 字节，最多 %d 字节。", len(source), mostCoreBytes),
		}
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, CoreFile, source, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return labs.Text{} // the compiler says it better
	}
	if file.Name.Name != "core" {
		return labs.Text{
			En: fmt.Sprintf("core.go is in package %s; it must stay in package core, which the checker builds.", file.Name.Name),
			Zh: fmt.Sprintf("core.go 属于包 %s；它必须留在包 core 里，检查器构建的正是这个包。", file.Name.Name),
		}
	}
	for _, imp := range file.Imports {
		if p := importProblem(set, imp); p != (labs.Text{}) {
			return p
		}
	}
	return labs.Text{}
}

// importProblem refuses what is in neither the standard library nor the exercise's module.
func importProblem(set *token.FileSet, imp *ast.ImportSpec) labs.Text {
	name, err := strconv.Unquote(imp.Path.Value)
	if err != nil {
		return labs.Text{}
	}
	first, _, _ := strings.Cut(name, "/")
	at := fmt.Sprintf("core.go:%d", set.Position(imp.Pos()).Line)
	switch {
	case name == "C":
		return labs.Text{
			En: at + ` imports "C": a core is Go alone, C cannot be built into it.`,
			Zh: at + ` 导入了 "C"：核心只能用 Go 编写，不能编入 C。`,
		}
	case first == "weir":
		return labs.Text{
			En: at + " imports " + name + ": the lab's own code is not there for a core. The exercise is to write it; import exercise/api and the standard library.",
			Zh: at + " 导入了 " + name + "：核心用不到实验室自己的代码。练习就是把它写出来；请只导入 exercise/api 和标准库。",
		}
	case strings.Contains(first, "."):
		return labs.Text{
			En: at + " imports " + name + ": a core has the standard library and exercise/api, no other modules.",
			Zh: at + " 导入了 " + name + "：核心只有标准库和 exercise/api，没有其他模块。",
		}
	}
	return labs.Text{}
}
