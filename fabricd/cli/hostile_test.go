package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/testenv"
)

// What arguments, names of files and what is in them have of characters that a terminal obeys is
// shown, and long ones are clipped.
func TestInputIsShownAndNotObeyed(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	const poison = "\x1b]0;owned\a\x1b[2J\u009b2J\x7f\r\u202e"
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	long := strings.Repeat("x", 82<<10)
	words := strings.Repeat("a "+poison, 4<<10)
	quoted := `"a\e]0;owned\a\e[2J\x9b2J"`
	scenario := "name: NAME\nabout: NAME\ntopology: ring:3\nrouting: none\nduration: 1ms\nexpect: {}\n"
	graph := file("graph\x1b[2J.yaml",
		"switches: [{id: a}, {id: b}]\nnics: []\nlinks: [{a: a, a_port: 0, b: b, b_port: 0}]\n")
	commands := [][]string{
		{"topology", "validate", graph},
		{"topology", "validate", "--json", graph},
		{"topology", "validate", poison},
		{"topology", "validate", long},
		{"topology", "validate", words},
		{"run", "--virtual", file("ok.yaml", strings.ReplaceAll(scenario, "NAME", quoted))},
		{"run", "--virtual", "--json", filepath.Join(dir, "ok.yaml")},
		{"run", long},
		{"run", words},
		{
			"scenario", "validate",
			file("bad.yaml", strings.ReplaceAll(scenario, "ring:3", `"`+strings.Repeat(`\e[2J`, 1000)+`"`)),
		},
		{"scenario", "validate", file("raw.yaml", "name: a\x1b[2J\nx\x1b]0;owned\a: 1\n")},
		{"scenario", "validate", "--json", filepath.Join(dir, "raw.yaml")},
		{"topology", "generate", file("named.yaml", "switches: [{id: "+quoted+"}]\nnics: []\nlinks: []\n")},
		{"topology", "generate", "--format", poison, "ring:3"},
		{poison},
		{long},
		{words},
		{"topology", poison},
		{"up", "--" + poison},
		{"up", "--topology", words},
		{"up", "--link-rate", long},
		{"up", "--fabric", words},
		{"up", "--liveness", poison, "--listen", long},
		{"routes", "--routing", long, "-t", "ring:3"},
		{"explain", "--" + long},
		{"topology", "generate", "ring:3", "-o", dir + "/no/" + poison},
		{"auth", "init", "--fabric", words, "--dir", dir + "/k"},
		{"auth", "init", "--fabric", "lab", "--dir", dir + "/k", "--hosts", long},
		{"verify", "--routing", words, "--topology", poison},
	}
	for _, args := range commands {
		out, errs, _ := fabricd(t, args...)
		for _, said := range []string{out, errs} {
			for _, bad := range []string{"\x1b", "\a", "\u009b", "\x7f", "\r", "\u202e"} {
				require.NotContains(t, said, bad, "%.80q", args)
			}
			for line := range strings.Lines(said) {
				require.Less(t, len(line), 3000, "%.80q", args)
			}
		}
		require.NotEmpty(t, out+errs)
	}
	attack.Count(t, "arguments and files with escapes, and very long ones", len(commands))
}
