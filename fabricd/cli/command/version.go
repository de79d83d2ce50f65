package command

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// Release is the version that CHANGELOG.md describes first; until it is released it ends in -dev.
const Release = "0.1.0-dev"

// revision is set by make build.
var revision string

// Revision is the commit that this program was built from, with +dirty if files had changed: as
// make set it, or as Go noted it. Of a module without a work tree it is the module's version. It is
// empty if nobody knows.
func Revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || revision != "" {
		return revision
	}
	found, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			found = s.Value[:min(12, len(s.Value))] // as long as make has it
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if found == "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return found + dirty
}

// versionLine is what --version prints after the program's name.
func versionLine() string {
	return Release + ", commit " + cmp.Or(Revision(), "not known") +
		", " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
}
