// Command systems checks that all packages and their tests compile for other systems. It checks their
// types from source: to compile all that they import takes minutes for each system.
//
//	systems darwin/arm64 windows/amd64
package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	failed := len(os.Args) < 2
	if failed {
		fmt.Fprintln(os.Stderr, "systems: name the systems, as darwin/arm64 windows/amd64")
	}
	for _, system := range os.Args[1:] {
		n, wrong, err := check(system)
		if err != nil {
			fmt.Fprintf(os.Stderr, "systems: %s: %v\n", system, err)
		} else if wrong == 0 {
			fmt.Printf("%s: %d packages and tests compile\n", system, n)
		}
		failed = failed || err != nil || wrong > 0
	}
	if failed {
		os.Exit(1)
	}
}

// check prints the errors that a compiler for the system, as GOOS/GOARCH, would find in the module of
// the working folder. It counts the packages and tests that it has checked, and the errors.
func check(system string) (n, wrong int, err error) {
	goos, goarch, ok := strings.Cut(system, "/")
	if !ok {
		return 0, 0, fmt.Errorf("a system is GOOS/GOARCH, as windows/amd64")
	}
	found, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedDeps | packages.NeedTypes | packages.NeedTypesSizes,
		Env:   append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0"),
		Tests: true,
	}, "./...")
	return len(found), packages.PrintErrors(found), err
}
