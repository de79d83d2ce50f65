package attack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weft-fabric/weft/harness/testenv"
)

const total = "Together: "

func rows(t *testing.T, text string) (list []row) {
	for line := range strings.Lines(text) {
		if r, ok := parse(line); ok {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		t.Fatal("no table")
	}
	return list
}

func together(list []row) string {
	sum := 0
	for _, r := range list {
		sum += r.attempts
	}
	return fmt.Sprintf("%s%d classes, %d attempts.", total, len(list), sum)
}

// Each row has a test that counts it, in the package and by the pattern that its command names, and
// each such test has a row.
func TestEveryRowHasItsTest(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	_, text := table(t)
	list := rows(t, text)
	if want := together(list); !strings.Contains(text, want) {
		t.Errorf("docs/reference/security.md must say %q", want)
	}
	byClass := map[string]row{}
	for _, r := range list {
		if _, twice := byClass[r.class]; twice {
			t.Errorf("two rows %q", r.class)
		}
		byClass[r.class] = r
	}
	top := root(t)
	found := map[string]bool{}
	err := filepath.WalkDir(top, func(path string, e os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "node_modules" || strings.HasPrefix(e.Name(), ".")) && path != top:
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(data, []byte("attack.")) {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, data, 0)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(top, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, class := range classes(file) {
			found[class] = true
			r, ok := byClass[class]
			if !ok {
				t.Errorf("%s counts %q, which has no row", path, class)
				continue
			}
			if _, in, _ := split(r.command); in != "./"+filepath.ToSlash(dir) {
				t.Errorf("%q is counted in %s, and its row says %s", class, dir, r.command)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if !found[r.class] {
			t.Errorf("nothing counts %q", r.class)
		}
		_, in, pattern := split(r.command)
		if re, err := regexp.Compile(pattern); err != nil || !hasTest(t, filepath.Join(top, in), re) {
			t.Errorf("%s: no test of this name (%v)", r.command, err)
		}
	}
}

// classes are those that the tests of a file count.
func classes(file *ast.File) (list []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) < 2 {
			return true
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		of, _ := f.X.(*ast.Ident)
		class, _ := call.Args[1].(*ast.BasicLit)
		if of != nil && of.Name == "attack" && class != nil &&
			slices.Contains([]string{"Count", "Seen", "Tally"}, f.Sel.Name) {
			text, err := strconv.Unquote(class.Value)
			if err == nil {
				list = append(list, text)
			}
		}
		return true
	})
	return list
}

func hasTest(t *testing.T, dir string, pattern *regexp.Regexp) bool {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Test") && pattern.MatchString(f.Name.Name) {
				return true
			}
		}
	}
	return false
}

// split takes a command apart: the variables that it sets, the package, and the pattern of its
// tests. Without a pattern it is all tests.
func split(command string) (env []string, pkg, pattern string) {
	words := strings.Fields(command)
	at := slices.Index(words, "go")
	env, words = words[:at], words[at+2:]
	if len(words) > 2 && words[1] == "-run" {
		pattern = words[2]
	}
	return env, words[0], pattern
}

// Runs what the rows say, the tests of a package together, and writes the table anew. A row whose
// test fails, or counts nothing, stays as it is.
func TestTheTable(t *testing.T) {
	if !testenv.Update() {
		t.Skip("with -update it runs what the table names for minutes, and writes the table anew")
	}
	_, text := table(t)
	list := rows(t, text)
	kept := filepath.Join(t.TempDir(), "attempts")
	patterns := map[string][]string{} // by variables and package
	var order []string
	for _, r := range list {
		env, pkg, pattern := split(r.command)
		key := strings.Join(append(env, pkg), " ")
		if patterns[key] == nil {
			order = append(order, key)
		}
		patterns[key] = append(patterns[key], pattern)
	}
	began := time.Now()
	for _, key := range order {
		words := strings.Fields(key)
		env, pkg := words[:len(words)-1], words[len(words)-1]
		cmd := exec.CommandContext(t.Context(), "go", "test", pkg, "-count", "1", "-timeout", "20m",
			"-run", strings.Join(patterns[key], "|"))
		cmd.Dir, cmd.Env = root(t), append(append(os.Environ(), countsFile+"="+kept), env...)
		since := time.Now()
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v:\n%s", key, err, said)
		}
		t.Logf("%s: %d classes, %v", key, len(patterns[key]), time.Since(since).Round(time.Second))
	}
	t.Logf("together %v", time.Since(began).Round(time.Second))
	write(t, list, readCounts(t, kept))
}

// readCounts reads what tests have counted. Where several have counted one class, each has tried it
// as often.
func readCounts(t *testing.T, path string) map[string]counted {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]counted{}
	for line := range bytes.Lines(data) {
		var c counted
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		if earlier, again := found[c.Class]; again && earlier.Attempts != c.Attempts && !c.Once {
			t.Errorf("%q: %d attempts, and %d", c.Class, earlier.Attempts, c.Attempts)
		}
		found[c.Class] = c
	}
	return found
}

func write(t *testing.T, list []row, found map[string]counted) {
	for i, r := range list {
		c, ok := found[r.class]
		if !ok {
			t.Errorf("%s: nothing has counted %q", r.command, r.class)
			continue
		}
		list[i].attempts, list[i].once = c.Attempts, c.Once
	}
	page, text := table(t)
	var out strings.Builder
	for line := range strings.Lines(text) {
		if _, ok := parse(line); ok {
			line, list = list[0].String(), list[1:]
		}
		out.WriteString(line)
	}
	line := regexp.MustCompile(`(?m)^` + total + `.*$`)
	if err := os.WriteFile(page, []byte(line.ReplaceAllString(out.String(), together(rows(t, out.String())))),
		0o644); err != nil {
		t.Fatal(err)
	}
}
