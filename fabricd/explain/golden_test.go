package explain_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/explain"
)

// TestAnswers compares answers with testdata/answers. The commands are
//
//	lines [topology=...] [routing=...] [vcs=2]      the input is JSON lines, and so is the output
//	tell  [topology=...] [routing=...] [vcs=2]      the input is one line, the output what people read
func TestAnswers(t *testing.T) {
	datadriven.Walk(t, "testdata/answers", func(t *testing.T, path string) {
		e := explain.New(nil)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			q := explain.NewQuestion()
			d.MaybeScanArgs(t, "topology", &q.Topology)
			d.MaybeScanArgs(t, "routing", &q.Routing)
			d.MaybeScanArgs(t, "vcs", &q.VCs)
			switch d.Cmd {
			case "lines":
				var out bytes.Buffer
				_, err := e.Lines(t.Context(), q, "", strings.NewReader(d.Input), &out)
				require.NoError(t, err)
				return out.String()
			case "tell":
				require.NoError(t, q.Decode([]byte(d.Input)))
				got, err := e.Explain(t.Context(), q)
				if err != nil {
					return err.Error()
				}
				return got.String()
			}
			d.Fatalf(t, "the command is lines or tell, not %q", d.Cmd)
			return ""
		})
	})
}
