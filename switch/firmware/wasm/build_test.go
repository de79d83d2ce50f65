package wasm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/firmware/wasm"
)

// run runs a compiler in a folder of the examples.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = examples+dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %s: %s", name, strings.Join(args, " "), out)
	return string(out)
}

// kept compares a guest that was built anew with the one in the repository: they decide alike and,
// if the same compiler has built them, have the same bytes. With -update it takes its place.
func kept(t *testing.T, file, built string, same bool) {
	t.Helper()
	b, err := os.ReadFile(built)
	require.NoError(t, err)
	if testenv.Update() {
		require.NoError(t, os.WriteFile(examples+file, b, 0o644))
	}
	for _, g := range guests {
		if g.file == file {
			g.alike(t, built)
		}
	}
	if same {
		was, err := os.ReadFile(examples + file)
		require.NoError(t, err)
		require.Equal(t, was, b, "%s is not what its source gives: go test ./switch/firmware/wasm -run BuiltAnew -update",
			file)
	}
}

// Clang 14 of Debian 12 and Rust 1.63 have built the guests that are in the repository.
func TestGuestsInCAreBuiltAnew(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	clang := testenv.Need(t, "clang", "the package clang")
	testenv.Need(t, "wasm-ld", "the package lld")
	same := strings.Contains(run(t, "c", nil, clang, "--version"), "Debian clang version 14.0.6")
	for _, name := range []string{"deterministic_link", "adaptive_link", "table"} {
		built := filepath.Join(t.TempDir(), name+".wasm")
		run(t, "c", nil, clang, "--target=wasm32", "-O2", "-Wall", "-Werror", "-nostdlib", "-Wl,--no-entry,--strip-debug",
			"-o", built, name+".c")
		kept(t, "c/"+name+".wasm", built, same)
	}
}

func TestGuestsInRustAreBuiltAnew(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	const target = "wasm32-unknown-unknown"
	rustc := ""
	for _, name := range []string{"rustc", "/usr/bin/rustc"} { // of which another than Debian's may come first
		out, err := exec.CommandContext(t.Context(), name, "--print", "target-libdir", "--target", target).Output()
		if _, missing := os.Stat(strings.TrimSpace(string(out))); err == nil && missing == nil {
			rustc = name
		}
	}
	if rustc == "" {
		testenv.Missing(t, "there is no rustc that compiles for %s: install the packages rustc and libstd-rust-dev-wasm32",
			target)
	}
	same := strings.Contains(run(t, "rust", nil, rustc, "--version"), "rustc 1.63.0")
	dir := t.TempDir()
	crate := func(name, kind, out, source string, more ...string) {
		run(t, "rust", nil, rustc, append(more, "--edition=2021", "--target="+target, "-Copt-level=2", "-Cpanic=abort",
			"-Clink-arg=--strip-debug",
			"--crate-type="+kind, "--crate-name="+name, "-o", filepath.Join(dir, out), source)...)
	}
	crate("weft", "rlib", "libweft.rlib", "weft/src/lib.rs")
	for _, name := range []string{"deterministic_link", "adaptive_link"} {
		folder := strings.ReplaceAll(name, "_", "-")
		crate(name, "cdylib", name+".wasm", folder+"/src/lib.rs", "--extern=weft="+filepath.Join(dir, "libweft.rlib"))
		kept(t, "rust/"+name+".wasm", filepath.Join(dir, name+".wasm"), same)
	}
	table, err := filepath.Abs("testdata/table.rs")
	require.NoError(t, err)
	crate("table", "cdylib", "table.wasm", table, "--extern=weft="+filepath.Join(dir, "libweft.rlib"))
	forwardsByTables(t, open(t, filepath.Join(dir, "table.wasm"), ""))
}

// Guests in Go are too large to be kept.
func TestGuestsInGoDecideAlike(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	build := func(folder string) *wasm.Module {
		built := filepath.Join(t.TempDir(), "fw.wasm")
		env := []string{"GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=", "GOWORK=off"}
		run(t, "go", env, "go", "build", "-buildmode=c-shared", "-o", built, folder)
		m := open(t, built, "")
		require.Empty(t, m.Log)
		return m
	}
	decidesAs(t, build("./deterministic-link"), "deterministic-link", 40)
	forwardsByTables(t, build("./table"))
}
