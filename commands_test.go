package weft_test

import (
	"fmt"
	"path"
	"strings"
	"testing"
)

const (
	commands       = "fabricd/cli"         // all commands of fabricd, and below it a package a noun
	sharedCommands = "fabricd/cli/command" // what nouns share, and linkmon too
)

func TestCommandsOfANounImportNoOthers(t *testing.T) {
	t.Parallel()
	report(t, commandViolations(sourceTree(t)))
	for file, dirs := range map[string][2]string{ // the first is refused, the second is not
		"fabricd/main.go":            {commands + "/up", commands},
		"fabricd/other.go":           {commands, sharedCommands},
		"fabricd/cli/run/a.go":       {commands + "/up", sharedCommands},
		"fabricd/cli/command/a.go":   {commands, "fabricd/topology"},
		"linkmon/cli/a_test.go":      {commands + "/up", sharedCommands},
		"linkmon/main.go":            {commands, "linkmon/cli"},
		"linkmon/screen/a.go":        {"linkmon/cli", "fabricd/api"},
		"fabricd/cli/up/a_test.go":   {commands, sharedCommands},
		"harness/sweep/a.go":         {commands + "/sweep", "harness"},
		"fabricd/cli/verify/sets.go": {commands + "/routes", "harness/verify"},
	} {
		for i, dir := range dirs {
			f, err := parseSource(file, []byte("package p\nimport \""+path.Join(module, dir)+"\"\n"))
			if err != nil {
				t.Fatal(err)
			}
			if bad := commandViolations([]source{f}); len(bad) != 1-i {
				t.Errorf("%s with an import of %s: %q", file, dir, bad)
			}
		}
	}
}

// isNoun reports whether dir has the commands of a noun.
func isNoun(dir string) bool { return strings.HasPrefix(dir, commands+"/") && dir != sharedCommands }

// commandViolations finds nouns that know of each other, others that know of nouns, and what imports a whole command.
func commandViolations(files []source) (bad []string) {
	for _, f := range files {
		for _, imp := range f.imports() {
			dir, ours := ourDir(imp)
			switch {
			case !ours || f.dir == commands:
			case isNoun(dir):
				bad = append(bad, fmt.Sprintf("%s imports %q: only %s may; what nouns share is in %s", f.path, imp, commands, sharedCommands))
			case (dir == commands || dir == "linkmon/cli") && f.path != path.Dir(dir)+"/main.go":
				bad = append(bad, fmt.Sprintf("%s imports %q: only %s/main.go may", f.path, imp, path.Dir(dir)))
			}
		}
	}
	return bad
}
