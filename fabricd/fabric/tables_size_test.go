package fabric

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/switch/tables"
	"github.com/weft-fabric/weft/switch/wire"
)

// What tables take on their way to hosts, and in the store: as JSON, and compressed, as they
// travel. The tables are all of a fabric.
//
//	go test ./fabricd/fabric -run '^$' -bench TablesSize -benchtime=1x
func BenchmarkTablesSize(b *testing.B) {
	for _, spec := range []string{"mport-tree:8,3", "mport-tree:16,3", "mport-tree:36,3"} {
		b.Run(spec, func(b *testing.B) {
			text, data := sizesOfTables(b, spec)
			b.ReportMetric(float64(text)/1e6, "MB-json")
			b.ReportMetric(float64(data)/1e6, "MB-sent")
		})
	}
}

func sizesOfTables(t testing.TB, spec string) (text, sent int) {
	t.Helper()
	g := topologytest.Parse(t, spec)
	fw, _, err := subnet.Firmware(t.Context(), "ftree", g)
	require.NoError(t, err)
	program := *fw.Program
	var list []*tables.Patch
	for _, s := range g.Switches {
		list = append(list, tables.Diff(s.ID, tables.Program{}, program, 0, 2))
	}
	body, err := json.Marshal(list)
	require.NoError(t, err)
	data, err := wire.Compress(body)
	require.NoError(t, err)
	return len(body), len(data)
}

// Tables travel and are kept in a tenth of their JSON or less.
func TestTablesAreCompressed(t *testing.T) {
	t.Parallel()
	text, sent := sizesOfTables(t, "mport-tree:8,3")
	require.Less(t, 10*sent, text)
}
