package topology

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What people have in files: as the tool prints it, copied from a terminal with the prompt and
// blanks for tabs, with what the tool says of errors, grouped by chassis, and as one writes for
// ibsim. The files in testdata/forms are one fabric in these forms.
func TestFilesOfAllFormsAreOneFabric(t *testing.T) {
	warnings := map[string][]string{
		"terminal.net": {`:1: skipped "[admin@mgmt /]# ibnetdiscover -f", which is not of the topology`},
		"diagnostics.net": {
			`:1: skipped "src/query_smp.c:195; umad (DR path slid 0; dlid 0; 0,1,1,31 Attr 0x11:0) bad sta...", which is not of the topology`,
			`:2: skipped "ibwarn: [4711] sim_connect: attached as client 1 at node \"sw1\"", which is not of the topology`,
			`:33: skipped "ibwarn: [4711] _do_madrpc: recv failed: Connection timed out", which is not of the topology`,
			`:11: left out the cable from port 3 to port 4 of "S-00000000000a0001": both of its ends are there`,
			`:13: left out the cable from port 7 to port 7 of "S-00000000000a0001": both of its ends are there`,
			`:35: left out the link from adapter "H-00000000000b0010" to adapter "H-00000000000b0020": no switch is between them`,
		},
	}
	want, err := Read("testdata/forms/plain.net")
	require.NoError(t, err)
	require.Equal(t, []string{"h1", "h2", "h3", "h4"}, want.NICNames())
	names, err := filepath.Glob("testdata/forms/*.net")
	require.NoError(t, err)
	require.Len(t, names, 5)
	for _, name := range names {
		g, err := Read(name)
		require.NoError(t, err)
		require.NoError(t, g.Validate())
		assert.Equal(t, want.Switches, g.Switches, name)
		assert.Equal(t, want.NICs, g.NICs, name)
		assert.Equal(t, want.Links, g.Links, name)
		if filepath.Base(name) != "ibsim.net" { // which has no GUIDs of adapters
			assert.Equal(t, want.identities, g.identities, name)
		}
		var said []string
		for _, w := range g.Warnings {
			said = append(said, strings.TrimPrefix(w, name))
		}
		assert.Equal(t, warnings[filepath.Base(name)], said, name)

		data, err := os.ReadFile(name)
		require.NoError(t, err)
		byLooks, err := Load("fabric.txt", data)
		require.NoError(t, err, "%s is known by its content", name)
		assert.Equal(t, want.Links, byLooks.Links, name)
	}
}
