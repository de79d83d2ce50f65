package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
)

// planted are faults in the ledger, each of which the histories must find: a piece of its source
// and what is there instead.
var planted = []struct{ what, file, old, new string }{
	{"an end that was heard long ago counts as one of now", "answer.go", "if from.LastTo > to.Mine {", "if false {"},
	{"an answer that was overtaken counts", "answer.go", "if a.Seq <= h.Seq {", "if false {"},
	{"an answer from before the failure brings a host back", "answer.go", "!h.Gone && a.Asked >= h.Since:", "!h.Gone:"},
	{"a neighbour's word from before the failure is enough", "state.go", "me.Asked >= other.Since && ", ""},
	{"packets are written off at once", "unheard.go", "list[at[0]].doubt = true", ""},
	{"neighbours that are both unheard are not added up", "unheard.go", "join(list, at[0], at[1])", ""},
	{
		"what was sent to a host that failed is forgotten", "unheard.go", "list[to].held += int64(missing)",
		"_, _ = to, missing",
	},
	{
		"what a host that failed had sent is forgotten", "unheard.go", "list[from].held -= int64(unheard)",
		"_, _ = from, unheard",
	},
	{"a loss is attributed twice", "attribute.go", "Wire += lost - s.Lost[d]", "Wire += lost"},
	{
		"the oldest incident is to blame", "incident.go",
		"for i := len(l.state.Incidents) - 1; i >= 0; i-- {\n\t\tif in := &l.state.Incidents[i]; in.Open",
		"for i := range l.state.Incidents {\n\t\tif in := &l.state.Incidents[i]; in.Open",
	},
	{"a fault that is noticed at once takes what was lost before", "step.go", "if e.Late {", "if true {"},
	{
		"an incarnation is folded before its neighbours have told", "fold.go",
		"|| !s.over(1-d, other, &l.state.Hosts[at[d]])", "",
	},
	{"incarnations that are gone wait for each other", "fold.go", "case keep[o] && (missing", "case (missing"},
	{"what folded incarnations injected is forgotten", "fold.go", "gone.Unheard+uint64(max(0, -held))", "gone.Unheard"},
	{"a checkpoint lacks what is known to be lost", "travel.go", "s.Lost = [2]uint64{list[3], list[4]}", ""},
	{"a node on its way is nowhere", "step.go", "flow.LastTo = max(flow.LastTo, e.HandOver)", "_ = flow"},
	{"the incarnation before goes on", "step.go", "case !h.Gone:\n\t\t\tl.fail(h, 0, true)", "case !h.Gone:"},
}

// soon has the first history to try for faults that few histories find: the one that found it. When
// the ledger has changed, the search goes on from there for as many histories as for other faults.
var soon = map[string]int{
	"packets are written off at once":                          4362,
	"an incarnation is folded before its neighbours have told": 14625,
	"a node on its way is nowhere":                             17553,
}

func TestPlantedFaultsAreFound(t *testing.T) {
	testenv.Nightly(t) // it builds the package once for each fault
	dir, err := os.Getwd()
	require.NoError(t, err)
	for i, p := range planted {
		from := 1000 * i
		if at, ok := soon[p.what]; ok {
			from = at
		}
		t.Run(p.what, func(t *testing.T) {
			source, err := os.ReadFile(p.file)
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(string(source), p.old), "%s has changed: plant the fault anew", p.file)
			tmp := t.TempDir()
			mutant := filepath.Join(tmp, p.file)
			require.NoError(t, os.WriteFile(mutant, []byte(strings.Replace(string(source), p.old, p.new, 1)), 0o600))
			overlay, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(dir, p.file): mutant}})
			require.NoError(t, err)
			list := filepath.Join(tmp, "overlay.json")
			require.NoError(t, os.WriteFile(list, overlay, 0o600))
			cmd := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-overlay", list, "-run", "Knows", "-count=1", ".",
				"-weft.histories", "20000")
			cmd.Env = append(os.Environ(), fmt.Sprint("WEFT_SEED=", max(1, from)))
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			require.Error(t, cmd.Run(), "not found")
			require.Contains(t, out.String(), "steps are enough", "%s", &out)
			t.Log(strings.SplitN(out.String(), "run it again", 2)[0])
		})
	}
}
