package weft_test

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/weft-fabric/weft"

// plain is what every core may import of the standard library: no clock, goroutine, lock, log, random draw or I/O.
var plain = []string{"cmp", "errors", "fmt", "iter", "math", "math/bits", "slices", "strconv", "strings"}

// asked is what the files of a Query may import: it drives a core in goroutines, with faults drawn from a seed.
var asked = []string{"context", "math/rand/v2", "sync", "sync/atomic", "time"}

// A core is a folder that must run in virtual time unchanged. Its direct imports are an allow-list, because fmt alone
// pulls in os and time indirectly. Tests may import more.
type core struct {
	std    []string            // of the standard library and of others
	ours   []string            // folders of this module
	inFile map[string][]string // what single files may import beside
}

var cores = map[string]core{
	".": {
		std: []string{"cmp", "errors", "fmt", "math", "math/bits", "slices", "strconv", "strings"},
		inFile: map[string][]string{
			"time.go":   {"time"},         // to convert time.Duration, no more
			"random.go": {"math/rand/v2"}, // to derive the streams that drivers hand to cores
		},
	},
	"switch/link": {std: plain, ours: []string{"."}},
	"switch":      {std: plain, ours: []string{".", "switch/link"}},
	"switch/pace": {
		std: plain, ours: []string{"."},
		inFile: map[string][]string{"pace.go": {"time"}}, // for time.Duration, as configurations have it
	},
	"switch/deadlock": {std: plain, ours: []string{".", "switch", "switch/link"}},
	"switch/firmware": {std: plain, ours: []string{".", "switch", "switch/tables"}},
	"switch/tables":   {std: plain, ours: []string{".", "switch"}},
	"nic": {
		std:    append([]string{"github.com/HdrHistogram/hdrhistogram-go", "github.com/gammazero/deque"}, plain...),
		ours:   []string{".", "switch/link"},
		inFile: map[string][]string{"trace.go": {"bufio", "io"}, "sources.go": {"io"}}, // of files that their caller opens
	},
	"fabricd/document/nearest": {std: append([]string{"github.com/agnivade/levenshtein"}, plain...)},
	// A topology is read from and written to files, and an irregular one is drawn from a seed.
	"fabricd/topology": {
		std: append([]string{
			"bufio", "bytes", "encoding", "encoding/json", "io", "io/fs", "maps", "math/rand/v2", "os", "path/filepath",
			"regexp", "unicode", "unicode/utf8",
		}, plain...),
		ours: []string{".", "fabricd/document", "fabricd/topology/ibnet"},
	},
	// A format, read from bytes and written to whoever asks.
	"fabricd/topology/ibnet": {std: append([]string{"bufio", "io"}, plain...), ours: []string{".", "fabricd/document"}},
	// Where nodes are drawn; irregular graphs from a seed.
	"fabricd/topology/layout": {std: append([]string{"io", "math/rand/v2"}, plain...), ours: []string{".", "fabricd/topology"}},
	// The control plane prints and parses tables, but whoever calls it opens the files. It makes firmwares by name.
	"fabricd/subnet": {
		std: append([]string{"bufio", "bytes", "container/heap", "encoding/json", "io", "maps"}, plain...),
		ours: []string{
			".", "fabricd/document", "fabricd/subnet/direct", "fabricd/subnet/layered", "fabricd/subnet/opensm", "fabricd/topology", "switch/firmware",
			"switch/tables",
		},
	},
	// The tables of another subnet manager, from readers; open.go opens them, where a routing is named by its files.
	"fabricd/subnet/opensm": {
		std: append([]string{"bufio", "io"}, plain...),
		ours: []string{
			".", "fabricd/document", "fabricd/subnet/layered", "fabricd/topology", "fabricd/topology/ibnet", "switch/tables",
		},
		inFile: map[string][]string{"open.go": {"compress/gzip", "os"}},
	},
	"fabricd/subnet/cdg": {std: plain},
	// Ways around faults in tori and meshes.
	"fabricd/subnet/direct": {std: plain, ours: []string{".", "fabricd/document", "fabricd/topology", "switch/firmware", "switch/tables"}},
	// Reconfiguration: like the engines it is given a routing and makes another.
	"fabricd/subnet/dqr": {std: plain, ours: []string{".", "fabricd/subnet/cdg", "fabricd/subnet/layered", "fabricd/topology", "switch/tables"}},
	"fabricd/subnet/manage": {
		std: plain,
		ours: []string{
			".", "fabricd/document", "fabricd/subnet", "fabricd/subnet/direct", "fabricd/subnet/dqr", "fabricd/subnet/layered", "fabricd/topology", "switch/firmware",
			"switch/tables",
		},
	},
	"fabricd/subnet/layered": {
		std:  append([]string{"container/heap"}, plain...),
		ours: []string{".", "fabricd/subnet/cdg", "fabricd/topology", "switch/firmware", "switch/tables"},
	},
	"fabricd/subnet/reroute": {
		std: plain, inFile: map[string][]string{"query.go": asked},
		ours: []string{
			".", "fabricd/subnet", "fabricd/subnet/dqr", "fabricd/subnet/layered", "fabricd/subnet/manage", "fabricd/subnet/survey",
			"fabricd/topology",
		},
	},
	"fabricd/subnet/tolerate": {
		std: plain, ours: []string{".", "fabricd/document", "fabricd/subnet/direct", "fabricd/topology"},
		inFile: map[string][]string{"counter.go": asked, "judge.go": asked, "limits.go": asked, "query.go": asked},
	},
	// The accounts of a fabric. Counters are added up at the offsets that reflection finds, and the state is written as msgpack.
	"fabricd/ledger": {
		std:  append([]string{"bytes", "reflect", "unsafe", "github.com/vmihailenco/msgpack/v5"}, plain...),
		ours: []string{".", "nic", "switch", "switch/link"},
	},
	"fabricd/leader": {
		std: append([]string{"maps"}, plain...), ours: []string{".", "fabricd/fault", "fabricd/ledger", "fabricd/topology", "nic"},
		inFile: map[string][]string{"act.go": {"time"}, "samples.go": {"time"}}, // for time.Duration
	},
	// Who runs what, of a graph and what hosts offer.
	"fabricd/placement":     {std: plain, ours: []string{".", "fabricd/topology"}},
	"fabricd/subnet/survey": {std: plain, ours: []string{".", "fabricd/subnet/layered", "fabricd/topology", "switch/tables"}},
}

// drivers says which folders of this module those just above the cores may import: nothing that stands on top of them.
var drivers = map[string][]string{
	"switch/wire":    {"."},
	"fabricd/bus":    {".", "fabricd/deflate", "fabricd/document", "fabricd/document/plain", "fabricd/reply", "fabricd/safefile", "switch/wire"},
	"switch/switchd": {".", "switch", "switch/link", "switch/pace", "switch/wire"},
	"nic/nicd":       {".", "nic", "switch/link", "switch/pace", "switch/switchd"},
	"fabricd/fault":  {".", "fabricd/document", "fabricd/document/table"}, // the words for faults: those who apply them import it
}

// banned names what no core may import, and why. The files of a topology are the only exception, see cores.
var banned = map[string]string{
	"context":      "a core never blocks, so there is nothing to cancel",
	"log":          "a core returns actions and its driver logs them",
	"log/slog":     "a core returns actions and its driver logs them",
	"math/rand":    "a core is given its random draws",
	"math/rand/v2": "a core is given its random draws",
	"net":          "a core does no I/O",
	"os":           "a core does no I/O",
	"sync":         "a core has one owner at a time and holds no lock",
	"sync/atomic":  "a core has one owner at a time and shares nothing",
	"time":         "a core is told the time, as weft.Time",
}

func TestCoresImportOnlyWhatRunsInVirtualTime(t *testing.T) {
	t.Parallel()
	files := sourceTree(t)
	report(t, coreViolations(files))
	for _, dir := range slices.Sorted(maps.Keys(cores)) {
		if !slices.ContainsFunc(files, func(f source) bool { return f.dir == dir }) {
			t.Errorf("core %s is gone: if it moved, its allow-list in imports_test.go moves too", dir)
		}
	}
}

func TestNoAllowListHoldsWhatIsBannedFromCores(t *testing.T) {
	t.Parallel()
	exceptions := map[string][]string{"fabricd/topology": {"math/rand/v2", "os"}, "fabricd/topology/layout": {"math/rand/v2"}}
	for dir, c := range cores {
		for _, imp := range c.std {
			if why, ok := banned[imp]; ok && !slices.Contains(exceptions[dir], imp) {
				t.Errorf("the allow-list of %s holds %q: %s", dir, imp, why)
			}
		}
	}
}

func TestDriversImportNothingThatStandsOnTopOfThem(t *testing.T) {
	t.Parallel()
	report(t, driverViolations(sourceTree(t)))
}

func TestOnlyBusImportsNATS(t *testing.T) {
	t.Parallel()
	report(t, natsViolations(sourceTree(t)))
}

// withoutBroker are the folders, with those below them, that compile without NATS: whoever tests a firmware builds no broker. Only
// harness/live is for tests over NATS.
var withoutBroker = []string{"switch", "nic", "harness"}

func TestPackagesForAuthorsOfFirmwareDoNotDependOnNATS(t *testing.T) {
	t.Parallel()
	report(t, brokerViolations(sourceTree(t)))
}

func TestADependencyOnNATSIsFoundWithItsImports(t *testing.T) {
	t.Parallel()
	var files []source
	for name, imp := range map[string]string{
		"switch/switchd/a.go": module + "/fabricd/b", "switch/switchd/a_test.go": "github.com/nats-io/nats.go", "switch/a.go": module + "/nic",
		"fabricd/b/a.go": module + "/fabricd/bus", "fabricd/bus/a.go": "github.com/nats-io/nkeys", "nic/a.go": "fmt",
	} {
		f, err := parseSource(name, []byte("package p\nimport \""+imp+"\"\n"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	want := "switch/switchd depends on NATS: switch/switchd imports fabricd/b imports fabricd/bus imports github.com/nats-io/nkeys"
	if got := brokerViolations(files); len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOnlyTestsScenariosAndCommandsImportHarness(t *testing.T) {
	t.Parallel()
	report(t, harnessViolations(sourceTree(t)))
}

func TestSwitchesAndNICsImportNothingOfTheFabric(t *testing.T) {
	t.Parallel()
	report(t, upwardViolations(sourceTree(t)))
	for file, dirs := range map[string][2]string{ // the first is refused, the second is not
		"switch/switchd/a.go":   {"fabricd/bus", "switch/wire"},
		"switch/link/a.go":      {"linkmon/screen", "."},
		"nic/a.go":              {"fabricd/document/nearest", "switch/link"},
		"nic/nicd/a.go":         {"harness/attack", "nic"},
		"switch/link/a_test.go": {"fabricd/bus", "fabricd/topology"},
	} {
		for i, dir := range dirs {
			f, err := parseSource(file, []byte("package p\nimport \""+path.Join(module, dir)+"\"\n"))
			if err != nil {
				t.Fatal(err)
			}
			if bad := upwardViolations([]source{f}); len(bad) != 1-i {
				t.Errorf("%s with an import of %s: %q", file, dir, bad)
			}
		}
	}
}

func TestOnlyTestsImportProcessesOfOthers(t *testing.T) {
	t.Parallel()
	report(t, outsideViolations(sourceTree(t)))
}

func TestTopologyDrawsOnlyFromSeededSources(t *testing.T) {
	t.Parallel()
	report(t, globalRandViolations(sourceTree(t)))
}

// The rules above hold for the tree as it is; this one shows that each of them would notice.
func TestImportRulesCatchEachKindOfViolation(t *testing.T) {
	t.Parallel()
	all := func(f source) []string {
		files := []source{f}
		return slices.Concat(coreViolations(files), driverViolations(files), natsViolations(files), brokerViolations(files),
			harnessViolations(files), outsideViolations(files), globalRandViolations(files))
	}
	for _, c := range []struct {
		file, body string
		want       string // part of the one violation; "" for none
	}{
		{"ids.go", `import "time"`, `ids.go imports "time": a core is told the time`},
		{"time.go", `import "time"`, ""},
		{"ids.go", `import "` + module + `/switch/link"`, "not on the allow-list of ."},
		{"switch/a.go", `import "sync"`, "a core has one owner"},
		{"switch/a.go", `import "net/http"`, "not on the allow-list of switch"},
		{"switch/a_test.go", `import "time"`, ""},
		{"switch/firmware/a.go", `import "` + module + `/nic"`, "not on the allow-list of switch/firmware"},
		{"nic/a.go", `import "github.com/gammazero/deque"`, ""},
		{"switch/a.go", `import "github.com/gammazero/deque"`, "not on the allow-list of switch"},
		{"fabricd/topology/a.go", `import "time"`, "a core is told the time"},
		{"fabricd/topology/a.go", "import \"math/rand/v2\"\nvar _ = rand.New(rand.NewPCG(1, 2))", ""},
		{"fabricd/topology/a.go", "import \"math/rand/v2\"\nvar _ = rand.IntN(2)", "a.go:3 uses rand.IntN"},
		{"fabricd/topology/a.go", "import r \"math/rand/v2\"\nvar _ = r.Perm(2)", "a.go:3 uses r.Perm"},
		{"switch/link/a.go", `import "context"`, "a core never blocks"},
		{"fabricd/subnet/a.go", `import "os"`, "a core does no I/O"},
		{"switch/switchd/a.go", `import "` + module + `/fabricd/fabric"`, "stands on top of switch/switchd"},
		{"switch/wire/a.go", `import "` + module + `/switch"`, "stands on top of switch/wire"},
		{"switch/switchd/a.go", `import "` + module + `/fabricd/bus"`, "stands on top of switch/switchd"},
		{"nic/nicd/a.go", `import "` + module + `/switch/switchd"`, ""},
		{"fabricd/fabric/a.go", `import "github.com/nats-io/nats.go/jetstream"`, "only fabricd/bus"},
		{"fabricd/fabric/a_test.go", `import "github.com/nats-io/nats-server/v2/server"`, "only fabricd/bus"},
		{"fabricd/bus/a.go", `import "github.com/nats-io/nats.go"`, ""},
		{"fabricd/a.go", `import "github.com/nats-io/jsm.go/natscontext"`, "only fabricd/bus"},
		{"fabricd/auth/a.go", `import "github.com/nats-io/jwt/v2"`, "only fabricd/bus"},
		{"fabricd/fabric/a.go", `import "` + module + `/harness"`, "only tests, scenarios and the commands"},
		{"fabricd/api/a.go", `import "` + module + `/harness/verify"`, "only tests, scenarios and the commands"},
		{"fabricd/fabric/a_test.go", `import "` + module + `/harness"`, ""},
		{"fabricd/fabric/a.go", `import "` + module + `/fabricd/bus/natstest"`, "only tests may"},
		{"fabricd/fabric/a_test.go", `import "` + module + `/fabricd/bus/natstest"`, ""},
		{"fabricd/cli/run/a.go", `import "` + module + `/harness/rig"`, "only tests may"},
		{"fabricd/cluster/a.go", `import "` + module + `/fabricd/host/hosttest"`, "only tests may"},
		{"harness/report/a.go", `import "` + module + `/harness/live"`, "only tests may"},
		{"fabricd/fabric/a.go", `import "` + module + `/switch/wire/wiretest"`, "only tests may"},
		{"fabricd/a.go", `import "` + module + `/fabricd/subnet/opensm/peer"`, "only tests and scenarios may"},
		{"scenarios/a.go", `import "` + module + `/fabricd/subnet/opensm/peer"`, ""},
		{"fabricd/cli/verify/a.go", `import "` + module + `/harness/verify"`, ""},
		{"fabricd/cli/command/a.go", `import "` + module + `/harness/verify"`, "only tests, scenarios and the commands"},
		{"scenarios/a.go", `import "` + module + `/harness"`, ""},
	} {
		f, err := parseSource(c.file, []byte("package p\n"+c.body+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		got := all(f)
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s with %s: unexpected %q", c.file, c.body, got)
		case c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)):
			t.Errorf("%s with %s: got %q, want one with %q", c.file, c.body, got, c.want)
		}
	}
}

func coreViolations(files []source) (bad []string) {
	for _, f := range files {
		c, ok := cores[f.dir]
		if !ok || f.isTest() {
			continue
		}
		for _, imp := range f.imports() {
			if dir, ours := ourDir(imp); ours {
				if slices.Contains(c.ours, dir) {
					continue
				}
			} else if slices.Contains(c.std, imp) || slices.Contains(c.inFile[path.Base(f.path)], imp) {
				continue
			}
			why := banned[imp]
			if why == "" {
				why = "not on the allow-list of " + f.dir + " in imports_test.go; put it there if it is as pure as the core must be"
			}
			bad = append(bad, fmt.Sprintf("%s imports %q: %s", f.path, imp, why))
		}
	}
	return bad
}

func driverViolations(files []source) (bad []string) {
	for _, f := range files {
		allowed, ok := drivers[f.dir]
		if !ok || f.isTest() {
			continue
		}
		for _, imp := range f.imports() {
			if dir, ours := ourDir(imp); ours && !slices.Contains(allowed, dir) {
				bad = append(bad, fmt.Sprintf("%s imports %q: it stands on top of %s or beside it, which may import %s of ours",
					f.path, imp, f.dir, strings.Join(allowed, ", ")))
			}
		}
	}
	return bad
}

func natsViolations(files []source) (bad []string) {
	for _, f := range files {
		for _, imp := range f.imports() {
			if isNATS(imp) && f.dir != "fabricd/bus" {
				bad = append(bad, fmt.Sprintf("%s imports %q: only fabricd/bus may, so that the transport stays one interface",
					f.path, imp))
			}
		}
	}
	return bad
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
		if dir == live || !slices.ContainsFunc(withoutBroker, below) {
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

const (
	graphs = "fabricd/topology/topologytest"
	rig    = "harness/rig"
	live   = "harness/live"
	attack = "harness/attack"
	peer   = "fabricd/subnet/opensm/peer" // an experiment needs it too
)

// forTests are for tests only: they start processes, and build them, or fail tests. So is peer.
var forTests = []string{
	graphs, rig, live, attack, "fabricd/bus/bustest", "fabricd/bus/natstest", "fabricd/document/schematest", "fabricd/host/hosttest",
	"switch/wire/wiretest",
}

// upwardViolations finds code of switches and NICs that imports what stands on top of them. Their tests may take a topology to run
// on, and what attacks a decoder.
func upwardViolations(files []source) (bad []string) {
	for _, f := range files {
		if !within(f.dir, "switch") && !within(f.dir, "nic") {
			continue
		}
		for _, imp := range f.imports() {
			dir, ours := ourDir(imp)
			above := within(dir, "fabricd") || within(dir, "linkmon") || within(dir, "harness")
			if ours && above && !(f.isTest() && slices.Contains([]string{"fabricd/topology", graphs, attack, rig}, dir)) {
				bad = append(bad, fmt.Sprintf("%s imports %q: switches and NICs know nothing of who runs them", f.path, imp))
			}
		}
	}
	return bad
}

func outsideViolations(files []source) (bad []string) {
	for _, f := range files {
		if f.isTest() || slices.Contains(forTests, f.dir) {
			continue
		}
		for _, dir := range forTests {
			if slices.Contains(f.imports(), module+"/"+dir) {
				bad = append(bad, fmt.Sprintf("%s imports %q: only tests may", f.path, dir))
			}
		}
		if f.dir != peer && !within(f.dir, "scenarios") && slices.Contains(f.imports(), module+"/"+peer) {
			bad = append(bad, fmt.Sprintf("%s imports %q: only tests and scenarios may", f.path, peer))
		}
	}
	return bad
}

func harnessViolations(files []source) (bad []string) {
	for _, f := range files {
		if f.isTest() || isNoun(f.dir) || within(f.dir, "scenarios") || within(f.dir, "harness") || slices.Contains(forTests, f.dir) {
			continue
		}
		for _, imp := range f.imports() {
			if dir, ours := ourDir(imp); ours && within(dir, "harness") {
				bad = append(bad, fmt.Sprintf("%s imports %q: only tests, scenarios and the commands may, it stands on top of all",
					f.path, imp))
			}
		}
	}
	return bad
}

// globalRandViolations finds draws from the process-wide source in cores that may import math/rand/v2.
func globalRandViolations(files []source) (bad []string) {
	seeded := []string{"ChaCha8", "New", "NewChaCha8", "NewPCG", "NewZipf", "PCG", "Rand", "Source", "Zipf"}
	for _, f := range files {
		if _, ok := cores[f.dir]; !ok || f.isTest() {
			continue
		}
		f.uses("math/rand/v2", func(name *ast.SelectorExpr, as string) {
			if !slices.Contains(seeded, name.Sel.Name) {
				bad = append(bad, fmt.Sprintf("%s:%d uses %s.%s, which nobody can seed: draw from a *rand.Rand made of the seed",
					f.path, f.line(name), as, name.Sel.Name))
			}
		})
	}
	return bad
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
