package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestARowThatAKillHasTornIsMeasuredAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ours.csv")
	whole := header + "\nring,plain,0.1,1,ok,3.2000,16.500,4.4000\n"
	require.NoError(t, os.WriteFile(path, []byte(whole+"ring,plain,0.2,1,ok,6.4000,17.500,4."), 0o644))
	file, before, err := resume(path)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.Len(t, before, 1)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, whole, string(text))
}
