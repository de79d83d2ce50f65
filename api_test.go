package weft_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/harness/testenv"
)

// outside are the folders of a module that uses nothing but what docs/api.md promises.
var outside = []string{
	"harness/testdata/promised", "examples/firmware", "examples/firmware/cmd/fabricd",
}

// public is what docs/api.md lists.
type public struct {
	stable    []string // folders whose packages have a promise
	mayChange []string // folders whose packages stable ones show types of
	others    []string // packages of other modules that they show types of
}

// publicPackages reads the tables of docs/api.md.
func publicPackages(t *testing.T) (p public) {
	t.Helper()
	text, err := os.ReadFile("docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string]*[]string{"Stable": &p.stable, "May change": &p.mayChange, "Of other modules": &p.others}
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		list, ok := lists[title]
		if !ok {
			continue
		}
		for _, m := range row.FindAllStringSubmatch(body, -1) {
			*list = append(*list, m[1])
		}
		if len(*list) == 0 {
			t.Fatalf("docs/api.md: %q lists nothing", title)
		}
		delete(lists, title)
	}
	for title := range lists {
		t.Fatalf("docs/api.md has no section %q", title)
	}
	return p
}

func TestPublicPackagesAreThere(t *testing.T) {
	t.Parallel()
	p := publicPackages(t)
	seen := map[string]bool{}
	for _, dir := range slices.Concat(p.stable, p.mayChange) {
		if seen[dir] {
			t.Errorf("docs/api.md lists %s twice", dir)
		}
		seen[dir] = true
		if !slices.ContainsFunc(sourceTree(t), func(f source) bool { return f.dir == dir && !f.isTest() }) {
			t.Errorf("docs/api.md lists %s, and there is no such package", dir)
		}
	}
}

// The module outside imports every package that has a promise, and no other of ours.
func TestTheModuleOutsideUsesWhatIsPromised(t *testing.T) {
	t.Parallel()
	stable := publicPackages(t).stable
	used := map[string]bool{}
	var files []string
	for _, dir := range outside {
		found, err := filepath.Glob(dir + "/*.go")
		if err != nil || len(found) == 0 {
			t.Fatalf("%s has no code (%v)", dir, err)
		}
		files = append(files, found...)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range f.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			dir, ours := ourDir(imp)
			if used[dir] = used[dir] || ours; ours && !slices.Contains(stable, dir) {
				t.Errorf("%s imports %s, which docs/api.md does not promise", name, dir)
			}
		}
	}
	for _, dir := range stable {
		if !used[dir] {
			t.Errorf("docs/api.md promises %s, and nothing in %s imports it", dir, outside)
		}
	}
}

// What the names of a stable package show is of a public package, of Go's library, or of a module
// that docs/api.md names.
func TestStablePackagesShowPublicTypesOnly(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	p := publicPackages(t)
	needed := map[string]bool{}
	for i, pkg := range compiled(t, p.stable) {
		shown := shownBy(pkg)
		for _, at := range slices.SortedFunc(maps.Keys(shown),
			func(a, b *types.TypeName) int { return strings.Compare(shown[a], shown[b]) }) {
			if at.Pkg() == nil {
				continue
			}
			of := at.Pkg().Path()
			dir, ours := ourDir(of)
			switch {
			case !ours && strings.Contains(of, "."):
				needed[of] = true
			case ours:
				needed[dir] = true
			default:
				continue // Go's library
			}
			if ours && !slices.Contains(p.stable, dir) && !slices.Contains(p.mayChange, dir) ||
				!ours && !slices.Contains(p.others, of) {
				t.Errorf("%s: %s shows %s.%s, and docs/api.md does not list that package", p.stable[i], shown[at], of, at.Name())
			}
		}
	}
	for _, name := range slices.Concat(p.mayChange, p.others) {
		if !needed[name] {
			t.Errorf("docs/api.md lists %s, and no stable package shows a type of it", name)
		}
	}
}

// A package that compiles generic code of a library, for the types that it imports lead there, is
// slow to compile. RATIONALE.md says more.
func TestTypesOfLibrariesStayInside(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	for dir, generic := range map[string]string{
		"fabricd/bus/bustest":     "nats-server/v2/server.(*ipQueue[",
		"fabricd/scenario/format": "pb33f/ordered-map/v2.(*OrderedMap[",
	} {
		object, err := os.ReadFile(exports(t, []string{dir})[module+"/"+dir])
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(object, []byte(generic)) {
			t.Errorf("%s compiles %s...: a type that it imports leads there", dir, generic)
		}
	}
}

// compiled loads packages, by their folders, as the compiler has them.
func compiled(t *testing.T, dirs []string) []*types.Package {
	t.Helper()
	files := exports(t, dirs)
	from := importer.ForCompiler(token.NewFileSet(), "gc",
		func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
	var pkgs []*types.Package
	for _, dir := range dirs {
		pkg, err := from.Import(strings.TrimSuffix(module+"/"+dir, "/."))
		if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, pkg)
	}
	return pkgs
}

// exports compiles packages, by their folders, and returns the files of these and of all that they
// import, by import path.
func exports(t *testing.T, dirs []string) map[string]string {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export"}
	for _, dir := range dirs {
		args = append(args, "./"+dir)
	}
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	files := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		files[p.ImportPath] = p.Export
	}
	return files
}

// shownBy finds the declared types that the exported names of a package show, each with the name
// that shows it.
func shownBy(pkg *types.Package) map[*types.TypeName]string {
	s := shown{pkg, map[*types.TypeName]string{}, map[types.Type]bool{}}
	for _, name := range pkg.Scope().Names() {
		obj := pkg.Scope().Lookup(name)
		if !obj.Exported() {
			continue
		}
		s.look(obj.Type(), name)
		if n, ok := obj.Type().(*types.Named); ok && n.Obj() == obj {
			s.declared(n, name)
		}
	}
	return s.found
}

type shown struct {
	pkg   *types.Package
	found map[*types.TypeName]string
	seen  map[types.Type]bool
}

// declared looks at the fields and methods of a type of the package.
func (s *shown) declared(n *types.Named, by string) {
	s.look(n.Underlying(), by)
	for m := range n.Methods() {
		if m.Exported() {
			s.look(m.Signature(), by+"."+m.Name())
		}
	}
}

func (s *shown) look(t types.Type, by string) {
	if t == nil || s.seen[t] {
		return
	}
	s.seen[t] = true
	switch t := t.(type) {
	case *types.Alias:
		s.name(t.Obj(), t.TypeArgs(), by)
		s.look(t.Rhs(), by)
	case *types.Named:
		s.name(t.Obj(), t.TypeArgs(), by)
		if t.Obj().Pkg() == s.pkg && !t.Obj().Exported() {
			s.declared(t, by) // whoever gets one sees these
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() {
				s.look(f.Type(), by+"."+f.Name())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				s.look(m.Signature(), by+"."+m.Name())
			}
		}
		for e := range t.EmbeddedTypes() {
			s.look(e, by)
		}
	case *types.Signature:
		s.look(t.Params(), by)
		s.look(t.Results(), by)
		for p := range t.TypeParams().TypeParams() {
			s.look(p.Constraint(), by)
		}
	case *types.Tuple:
		for v := range t.Variables() {
			s.look(v.Type(), by)
		}
	case *types.Union:
		for term := range t.Terms() {
			s.look(term.Type(), by)
		}
	case *types.Map:
		s.look(t.Key(), by)
		s.look(t.Elem(), by)
	case interface{ Elem() types.Type }: // an array, a channel, a pointer, a slice
		s.look(t.Elem(), by)
	}
}

// name notes a declared type, and looks at what it was made with.
func (s *shown) name(obj *types.TypeName, args *types.TypeList, by string) {
	if _, ok := s.found[obj]; !ok {
		s.found[obj] = by
	}
	for a := range args.Types() {
		s.look(a, by)
	}
}
