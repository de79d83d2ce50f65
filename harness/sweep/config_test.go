package sweep

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatBlockedPacketsWaitForIsUpToTheExperiment(t *testing.T) {
	e, err := loadFile("waits.yaml", []byte(`name: waits
about: what blocked packets wait for
base: {topology: "kary-ntree:2,2", routing: adaptive-link, load: 0.5}
axes: [{axis: waiting, values: [all, one]}]
samples: 1
quick: {samples: 1}
`))
	require.NoError(t, err)
	require.Len(t, e.full.points, 2)
	require.Equal(t, "all", e.full.points[0].config.Switch.Waiting)
	require.Equal(t, "one", e.full.points[1].config.Switch.Waiting)
}
