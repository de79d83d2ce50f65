package weft_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The Makefile runs the tests of a package under the race detector if it imports sync or they
// import goleak. Whatever starts a goroutine must be among them.
func TestWhatStartsGoroutinesIsTestedForRaces(t *testing.T) {
	t.Parallel()
	locks, leaks := []string{"sync", "sync/atomic"}, []string{"go.uber.org/goleak"}
	raced, tested, starts := map[string]bool{}, map[string]bool{}, map[string]string{}
	for _, f := range sourceTree(t) {
		signs := locks
		if f.isTest() {
			signs = leaks
		}
		for _, imp := range f.ast.Imports {
			raced[f.dir] = raced[f.dir] || slices.Contains(signs, strings.Trim(imp.Path.Value, `"`))
		}
		if f.isTest() {
			tested[f.dir] = true
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				starts[f.dir] = fmt.Sprintf("%s:%d", f.path, f.line(g))
			}
			return true
		})
	}
	var bad []string
	for dir, where := range starts {
		if tested[dir] && !raced[dir] {
			bad = append(bad, fmt.Sprintf("%s starts a goroutine: have the package's tests look for those that are left, by %v",
				where, leaks))
		}
	}
	report(t, bad)
}

// A test that is skipped because it has run under the race detector must have done all there.
func TestWhatRunsUnderTheRaceDetectorAloneAsksForNothingThatChangesThere(t *testing.T) {
	t.Parallel()
	var bad []string
	for _, f := range sourceTree(t) {
		for _, d := range f.ast.Decls {
			asked := map[string]bool{}
			ast.Inspect(d, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok && fmt.Sprint(sel.X) == "testenv" {
					asked[sel.Sel.Name] = true
				}
				return true
			})
			for _, other := range []string{"Unraced", "N", "Levels", "Full", "Soak", "Nightly", "Race"} {
				if asked["Raced"] && asked[other] {
					bad = append(bad, fmt.Sprintf("%s:%d asks testenv for Raced and for %s", f.path, f.line(d), other))
				}
			}
		}
	}
	report(t, bad)
}

func TestEverySkipSaysWhy(t *testing.T) {
	t.Parallel()
	for _, f := range sourceTree(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && skipsSilently(call) {
				t.Errorf("%s:%d skips a test and does not say why", f.path, f.line(call))
			}
			return true
		})
	}
}

// skipsSilently reports whether call is t.SkipNow, or t.Skip or t.Skipf without a message.
func skipsSilently(call *ast.CallExpr) bool {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	var receiver string
	switch x := fun.X.(type) {
	case *ast.Ident:
		receiver = x.Name
	case *ast.SelectorExpr: // h.t.Skip
		receiver = x.Sel.Name
	}
	if !slices.Contains([]string{"t", "b", "f", "tb"}, receiver) {
		return false
	}
	switch fun.Sel.Name {
	case "SkipNow":
		return true
	case "Skip", "Skipf":
		if len(call.Args) == 0 {
			return true
		}
		lit, ok := call.Args[0].(*ast.BasicLit)
		return ok && len(strings.Trim(lit.Value, "\"` ")) == 0
	}
	return false
}

func TestOnlySilentSkipsAreFound(t *testing.T) {
	t.Parallel()
	for call, silent := range map[string]bool{
		`t.SkipNow()`: true, `t.Skip()`: true, `tb.Skip("")`: true, `h.t.Skipf(" ")`: true,
		`t.Skip("needs a C compiler")`: false, `t.Skipf("needs %d cores", n)`: false, `t.Skip(why)`: false,
		`dec.Skip()`: false,
	} {
		expr, err := parser.ParseExpr(call)
		if err != nil {
			t.Fatal(err)
		}
		if got := skipsSilently(expr.(*ast.CallExpr)); got != silent {
			t.Errorf("%s: silent = %v, want %v", call, got, silent)
		}
	}
}

func TestTopLevelHoldsTheProjectAndNothingElse(t *testing.T) {
	t.Parallel()
	wanted := []string{
		".ci", ".github", ".gitignore", ".golangci.yml", ".goreleaser.yaml", "CHANGELOG.md", "CODE_OF_CONDUCT.md",
		"CONTRIBUTING.md", "LICENSE", "Makefile",
		"RATIONALE.md", "README.md", "SECURITY.md", "deploy", "docs", "examples", "fabricd", "go.mod", "go.sum", "harness",
		"linkmon", "nic",
		"scenarios", "switch",
	}
	// What .gitignore names, and what git and editors leave.
	untracked := []string{".git", "bin", "dist", "results", "*.test", "*.prof", ".idea", ".vscode", ".DS_Store"}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if i := slices.Index(wanted, name); i >= 0 {
			wanted = slices.Delete(wanted, i, i+1)
			continue
		}
		ignored := slices.ContainsFunc(untracked, func(pattern string) bool { ok, _ := path.Match(pattern, name); return ok })
		if !ignored && (e.IsDir() || path.Ext(name) != ".go") {
			t.Errorf("%s does not belong to the top level: put it into the folder of its subject", name)
		}
	}
	for _, name := range wanted {
		t.Errorf("%s is missing at the top level", name)
	}
}

// source is one Go file of the tree.
type source struct {
	path string // from the top, with slashes
	dir  string // "." at the top
	text []byte
	fset *token.FileSet
	ast  *ast.File
}

// sourceTree is every Go file of the module, whatever its build constraint, but for testdata and what git ignores. Tests only read it.
func sourceTree(t *testing.T) []source {
	t.Helper()
	files, err := parsedTree()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var parsedTree = sync.OnceValues(parseTree)

func parseTree() (files []source, err error) {
	var bad []error
	err = filepath.WalkDir(".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			hidden := name != "." && strings.ContainsAny(e.Name()[:1], "._")
			if hidden || slices.Contains([]string{"bin", "dist", "results"}, name) ||
				slices.Contains([]string{"testdata", "node_modules"}, e.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		f, err := parseSource(filepath.ToSlash(name), text)
		if err != nil {
			bad = append(bad, err)
			return nil
		}
		files = append(files, f)
		return nil
	})
	return files, errors.Join(append(bad, err)...)
}

func parseSource(name string, text []byte) (source, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	return source{path: name, dir: path.Dir(name), text: text, fset: fset, ast: file}, err
}

func (f source) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

func (f source) line(n ast.Node) int { return f.fset.Position(n.Pos()).Line }

func report(t *testing.T, bad []string) {
	t.Helper()
	for _, b := range bad {
		t.Error(b)
	}
}
