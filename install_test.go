package weft_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	modules "golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/weft-fabric/weft/harness/testenv"
)

// installedVersion is one that no release will have. Every commit has another: Go remembers of a
// version which files it has.
func installedVersion(t *testing.T) string {
	t.Helper()
	commit, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		t.Skipf("needs a git checkout with a commit: %v", err)
	}
	return "v0.0.0-installed.g" + strings.TrimSpace(string(commit))
}

// A machine with Go alone installs both commands from a module proxy. The proxy here is a folder
// with the committed state of this module, packed as a proxy packs it; other modules are those of
// the cache.
func TestBothCommandsInstallFromAModuleProxy(t *testing.T) {
	t.Parallel()
	testenv.Nightly(t)
	proxy, bin, installed := t.TempDir(), t.TempDir(), installedVersion(t)
	pack(t, proxy, installed)
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = t.TempDir() // no module, as where a user installs
		cmd.Env = append(os.Environ(), "GOBIN="+bin, "GOFLAGS=-mod=mod -modcacherw", "GOWORK=off", "GOSUMDB=off",
			"GOPROXY=file://"+filepath.ToSlash(proxy))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	cache := strings.TrimSpace(run("go", "env", "GOMODCACHE"))
	t.Cleanup(func() { // of a version that is not real nothing stays
		for _, at := range []string{module + "@" + installed, "cache/download/" + module} {
			if err := os.RemoveAll(filepath.Join(cache, filepath.FromSlash(at))); err != nil {
				t.Error(err)
			}
		}
	})
	run("go", "install", module+"/fabricd@"+installed, module+"/linkmon@"+installed)
	for _, command := range []string{"fabricd", "linkmon"} {
		want := command + " " + strings.TrimPrefix(installed, "v") + ", commit " + installed + ", go"
		if got := run(filepath.Join(bin, command), "--version"); !strings.HasPrefix(got, want) {
			t.Errorf("%s --version says %q, expected %s...", command, got, want)
		}
	}
	if said := run(filepath.Join(bin, "fabricd"), "topology", "generate", "ring:3"); !strings.Contains(said,
		`generate: "ring:3"`) {
		t.Errorf("the installed fabricd generates a ring of 3 as %q", said)
	}
}

// pack writes what a proxy has of a version of this module: its go.mod, its description, and an
// archive of what is committed.
func pack(t *testing.T, proxy, installed string) {
	t.Helper()
	dir := filepath.Join(proxy, filepath.FromSlash(module), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := exec.Command("git", "show", "HEAD:go.mod").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		installed + ".mod": mod, "list": []byte(installed + "\n"),
		installed + ".info": []byte(`{"Version":"` + installed + `","Time":"2026-01-01T00:00:00Z"}`),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Create(filepath.Join(dir, installed+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	clone := t.TempDir() // this may be a second work tree
	if out, err := exec.Command("git", "clone", "--quiet", "--depth", "1", "file://"+here,
		clone).CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v\n%s", err, out)
	}
	if err := zip.CreateFromVCS(f, modules.Version{Path: module, Version: installed}, clone, "HEAD", ""); err != nil {
		t.Errorf("a module proxy refuses this module: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
