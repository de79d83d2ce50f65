package sweep

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-fabric/weft/harness/sweep"
)

func TestAFolderOfResultsIsNamedAsItsExperiment(t *testing.T) {
	t.Parallel()
	assert.Equal(t, filepath.Join("results", "tiny-quick"), (&sweepFlags{quick: true}).dir(&sweep.Experiment{File: sweep.File{Name: "tiny"}}))
}

func TestACommandCanBePastedIntoAShell(t *testing.T) {
	t.Parallel()
	s := sweepFlags{quick: true, samples: 3, where: []string{"topology=kary-ntree:4,3", "method=DDLR, one VC", "x=it's"}}
	assert.Equal(t, `fabricd sweep a/b.yaml --quick --samples 3 --where topology=kary-ntree:4,3 --where 'method=DDLR, one VC' --where 'x=it'\''s'`, s.command("a/b.yaml"))
}
