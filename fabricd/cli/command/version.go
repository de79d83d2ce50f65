package command

import (
	"cmp"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
)

const module = "github.com/weft-fabric/weft"

// Release is the version that CHANGELOG.md describes first. While that is not released, it is the
// next one, with -dev at the end.
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

// pseudo is the end of a version that Go makes up for a commit without a tag.
var pseudo = regexp.MustCompile(`[-.]\d{14}-[0-9a-f]{12}(\+dirty)?$`)

// Version is the version of this program: that of its module, if it was installed as one or built
// from a tagged commit, else [Release].
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return releaseOf(info.Main)
	}
	return Release
}

// releaseOf is the version of a module with this command.
func releaseOf(m debug.Module) string {
	v, ok := strings.CutPrefix(m.Version, "v")
	if !ok || m.Path != module || pseudo.MatchString(v) {
		return Release
	}
	return v
}

// versionLine is what --version prints after the program's name.
func versionLine() string {
	return Version() + ", commit " + cmp.Or(Revision(), "not known") +
		", " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
}
