package settings_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/nic"
)

func TestTheFileOfATraceIsRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a,b.csv")
	require.NoError(t, os.WriteFile(file, []byte("time_us,src,dst,bytes\n0,n0,n1,256\n1.5,n1,n0,64\n"), 0o600))
	traffic, err := settings.ParseTraffic("trace:" + file)
	require.NoError(t, err)
	require.Equal(t, 2, traffic.Trace.Len())
	require.Equal(t, 1500*weft.Nanosecond, traffic.Trace.End())
	require.Equal(t, "trace:"+file, traffic.String())
}

func TestErrorsNameTheFileAndTheLine(t *testing.T) {
	dir := t.TempDir()
	_, err := settings.ParseTraffic("trace:" + filepath.Join(dir, "none.csv"))
	require.ErrorIs(t, err, nic.ErrTraffic)
	require.ErrorIs(t, err, fs.ErrNotExist)
	file := filepath.Join(dir, "bad.csv")
	require.NoError(t, os.WriteFile(file, []byte("time_us,src,dst,bytes\n0,n0,n1,0\n"), 0o600))
	_, err = settings.ParseTraffic("trace:" + file)
	require.ErrorIs(t, err, nic.ErrTrace)
	require.ErrorContains(t, err, file+": unusable trace: line 2: packets have 1 to 1048576 bytes")
	_, err = settings.ParseTraffic("trace:" + dir)
	require.ErrorIs(t, err, nic.ErrTraffic)
}

func TestOtherTrafficNeedsNoFile(t *testing.T) {
	traffic, err := settings.ParseTraffic("uniform:0.2")
	require.NoError(t, err)
	require.Equal(t, nic.Traffic{Pattern: "uniform", Load: 0.2}, traffic)
}

func TestTheErrorOfAnUnknownWordNamesTheNearest(t *testing.T) {
	for text, want := range map[string]string{
		"unifrom:0.2":                 `unusable traffic "unifrom:0.2": unknown pattern "unifrom": did you mean "uniform"? known: uniform, hotspot`,
		"hotspot:0.2,hto=3":           `unknown option "hto": did you mean "hot"? known: `,
		"uniform:0.2,arrivals=poison": `unknown arrival process "poison": did you mean "poisson"? known: `,
	} {
		_, err := settings.ParseTraffic(text)
		require.ErrorIs(t, err, nic.ErrTraffic)
		require.ErrorContains(t, err, want)
	}
}
