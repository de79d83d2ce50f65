package command

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// revision is set by make build.
var revision string

// Version is that of this program: of a release, by make, or as Go noted it; empty if that is not
// known.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || revision != "" {
		return revision
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	found, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			found = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if found == "" {
		return ""
	}
	return found + dirty
}

// versionLine is what --version prints after the program's name.
func versionLine() string {
	return cmp.Or(Version(), "of a version that is not known") + ", " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
}
