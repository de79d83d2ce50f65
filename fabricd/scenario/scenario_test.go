package scenario

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
)

func TestHealInMemory(t *testing.T) {
	for _, file := range []string{"heal.yaml", "heal-deterministic.yaml"} {
		t.Run(file, func(t *testing.T) {
			s, err := Read("../../scenarios/" + file)
			require.NoError(t, err)
			m := bus.NewMemory()
			defer m.Close()
			r, err := Runner{Transport: m}.Run(context.Background(), s)
			require.NoError(t, err)
			t.Logf("%+v", r)
			require.True(t, r.Pass, "%v", r.Failed)
		})
	}
}
