package explain

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func TestTheDocumentationNamesEveryMemberOfLinesAndAnswers(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/howto/firmware.md")
	require.NoError(t, err)
	all := slices.Concat(memberNames, headerMemberNames)
	for _, typ := range []reflect.Type{
		reflect.TypeFor[Answer](), reflect.TypeFor[Decision](),
		reflect.TypeFor[Candidate](),
	} {
		for f := range typ.Fields() {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				all = append(all, name)
			}
		}
	}
	for _, name := range all {
		require.Contains(t, string(text), "`"+name+"`")
	}
}

// A routing field that is new must be asked with and answered too, or a packet cannot be followed
// by the answers.
func TestEveryRoutingFieldIsAskedWithAndAnswered(t *testing.T) {
	t.Parallel()
	names := map[string]string{
		"PortField": "port_field", "Misroute": "misroute", "Path": "path", "Layers": "layers",
		"Route": "route", "Sub": "sub",
	}
	for f := range reflect.TypeFor[weft.Fields]().Fields() {
		name := names[f.Name]
		require.NotEmpty(t, name, "weft.Fields has %s: it belongs into headerMembers and changed", f.Name)
		require.Contains(t, headerMembers, name)
	}
	require.Len(t, changed(weft.NewFields(),
		weft.Fields{
			PortField: 1, Misroute: 1, Path: 1, Layers: 1, Route: weft.SourceRoute{1},
			Sub: weft.SubHeaders{weft.Nowhere},
		}, 1), len(names))
}

func TestTopologiesThatAreKeptAreBounded(t *testing.T) {
	t.Parallel()
	e := New(nil)
	q := NewQuestion()
	q.Routing, q.Switch, q.In, q.Dst = "none", Number(0), Number(0), Number(0)
	for n := range 3 * maxFabrics {
		q.Topology = fmt.Sprintf("ring:%d", n+3)
		_, err := e.Explain(t.Context(), q)
		require.NoError(t, err)
		require.LessOrEqual(t, len(e.fabrics), maxFabrics)
	}
}
