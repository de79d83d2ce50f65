package weft_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/weft-fabric/weft"

// Which folder may import which package directly, .golangci.yml says. Tests say what its rules
// cannot: what holds of indirect imports, and that the rules are about folders that are there.

// The linter is silent about a rule whose folder has moved.
func TestTheLintersRulesAreAboutFoldersThatAreThere(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(".golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	of := regexp.MustCompile(`\$\{config-path\}/([^"]+)"`).FindAllStringSubmatch(string(text), -1)
	of = append(of, regexp.MustCompile(module+`/([a-z/]+)`).FindAllStringSubmatch(string(text), -1)...)
	if len(of) < 100 {
		t.Errorf("the rules name %d folders and packages", len(of))
	}
	for _, m := range of {
		if found, err := filepath.Glob(strings.ReplaceAll(m[1], "**", "*")); len(found) == 0 {
			t.Errorf(".golangci.yml names %s, and there is none: if it has moved, its rule moves too (%v)", m[1], err)
		}
	}
}

// withoutBroker are the folders, with those below them, that compile without NATS: whoever tests a
// firmware builds no broker. Only harness/live is for tests over NATS, and an example is a module
// of its own.
var withoutBroker = []string{"switch", "nic", "harness"}

func TestPackagesForAuthorsOfFirmwareDoNotDependOnNATS(t *testing.T) {
	t.Parallel()
	report(t, brokerViolations(sourceTree(t)))
}

func TestADependencyOnNATSIsFoundWithItsImports(t *testing.T) {
	t.Parallel()
	var files []source
	for name, imp := range map[string]string{
		"switch/switchd/a.go": module + "/fabricd/b", "switch/switchd/a_test.go": "github.com/nats-io/nats.go",
		"switch/a.go":    module + "/nic",
		"fabricd/b/a.go": module + "/fabricd/bus", "fabricd/bus/a.go": "github.com/nats-io/nkeys", "nic/a.go": "fmt",
	} {
		f, err := parseSource(name, []byte("package p\nimport \""+imp+"\"\n"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	want := "switch/switchd depends on NATS: switch/switchd imports fabricd/b imports fabricd/bus imports " +
		"github.com/nats-io/nkeys"
	if got := brokerViolations(files); len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// isNATS reports whether imp is of the client, the server or what they share.
func isNATS(imp string) bool { return within(imp, "github.com/nats-io") }

// brokerViolations says for each folder of withoutBroker by which imports it depends on NATS.
func brokerViolations(files []source) (bad []string) {
	imports := map[string][]string{} // by folder, tests aside
	for _, f := range files {
		if !f.isTest() {
			imports[f.dir] = append(imports[f.dir], f.imports()...)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(imports)) {
		below := func(top string) bool { return within(dir, top) }
		if dir == "harness/live" ||
			!slices.ContainsFunc(withoutBroker, below) {
			continue
		}
		if chain := chainToNATS(imports, dir, map[string]bool{}); chain != nil {
			bad = append(bad, fmt.Sprintf("%s depends on NATS: %s", dir, strings.Join(chain, " imports ")))
		}
	}
	return bad
}

// chainToNATS is a chain of imports from a folder to NATS, nil if there is none.
func chainToNATS(imports map[string][]string, dir string, seen map[string]bool) []string {
	seen[dir] = true
	for _, imp := range imports[dir] {
		if isNATS(imp) {
			return []string{dir, imp}
		}
		if to, ours := ourDir(imp); ours && !seen[to] {
			if chain := chainToNATS(imports, to, seen); chain != nil {
				return append([]string{dir}, chain...)
			}
		}
	}
	return nil
}

// imports lists the direct imports of f in the order of the file.
func (f source) imports() []string {
	var list []string
	for _, spec := range f.ast.Imports {
		if imp, err := strconv.Unquote(spec.Path.Value); err == nil {
			list = append(list, imp)
		}
	}
	return list
}

// ourDir is the folder of an import of this module.
func ourDir(imp string) (dir string, ours bool) {
	if imp == module {
		return ".", true
	}
	return strings.CutPrefix(imp, module+"/")
}

// within reports whether p is dir or lies below it.
func within(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }
