package harness_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-fabric/weft/harness/testenv"
)

// A firmware in a module of its own is tested there, with what Weft promises to other modules
// alone, and its tests find what is wrong with it.
func TestAFirmwareInAModuleOfItsOwn(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	for _, c := range []struct {
		name       string
		right, bug string // what the bug takes the place of
		says       string // by the failing test; "" when none fails
	}{
		{name: "as it is"},
		{"it turns round again and again", "at.Port == on &&", "at.Port == nic &&", "livelock with s0-s1 dead"},
	}[:testenv.Levels(2, 2, 1)] { // each is built
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := ownModule(t)
			code := filepath.Join(dir, "around.go")
			edit(t, code, c.right, c.bug)
			cmd := exec.Command("go", "test", "-vet=off", "./...")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false", "GOPROXY=off", "GOWORK=off")
			out, err := cmd.CombinedOutput()
			if failed := err != nil; failed != (c.says != "") || !strings.Contains(string(out), c.says) {
				t.Errorf("go test: %v, expected %q\n%s", err, c.says, out)
			}
		})
	}
}

// ownModule copies the example, with the package that names something of each promised one, and
// adds what go mod tidy would: versions and hashes, which are those of this module. Without them go
// reads the whole module graph, more than a build of Weft fetches.
func ownModule(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for from, to := range map[string]string{"../examples/firmware": "", "testdata/promised": "promised"} {
		if err := os.CopyFS(filepath.Join(dir, to), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	top, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "go.mod")
	edit(t, file, "=> ../..", "=> "+top)
	const ours = "require github.com/weft-fabric/weft v0.0.0\n"
	edit(t, file, ours, ours+requires(t))
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// requires is what our go.mod requires.
func requires(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, all, found := strings.Cut(string(text), "\nrequire (")
	if !found {
		t.Fatal("../go.mod requires nothing")
	}
	return "\nrequire (" + all
}

// edit replaces a text that a file has once.
func edit(t *testing.T, file, old, now string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if old == "" {
		return
	}
	if strings.Count(string(text), old) != 1 {
		t.Fatalf("%s does not have %q once", file, old)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), old, now, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}
