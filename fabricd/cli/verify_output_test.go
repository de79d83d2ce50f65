package cli_test

import (
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
)

func TestVerifyDrawsAPlot(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	dir := t.TempDir()
	args := []string{"verify", "-t", "kary-ntree:2,3", "--faults", "3"}
	out, errs, _ := fabricd(t, append(args, "--routing", "adaptive-link", "--json")...)
	require.Empty(t, errs)
	earlier := filepath.Join(dir, "earlier.json")
	require.NoError(t, os.WriteFile(earlier, []byte(out), 0o600))

	svg := filepath.Join(dir, "figure.svg")
	_, errs, _ = fabricd(t, append(args, "--routing", "deterministic-link", "--plot", svg, "--overlay", earlier)...)
	require.Empty(t, errs)
	text, err := os.ReadFile(svg)
	require.NoError(t, err)
	labels := regexp.MustCompile(`>[^<]*[a-z][^<]*</text>`).FindAllString(string(text), -1)
	assert.Equal(t, []string{
		">Fault sets that leave all pairs connected: kary-ntree:2,3</text>", ">dead links</text>", ">fault sets (%)</text>",
		">deterministic-link</text>", ">adaptive-link</text>",
	}, labels)

	picture := filepath.Join(dir, "figure.png")
	_, errs, _ = fabricd(t, append(args, "--routing", "updown", "--kind", "any", "--plot", picture)...)
	require.Empty(t, errs)
	f, err := os.Open(picture)
	require.NoError(t, err)
	defer f.Close()
	_, err = png.Decode(f)
	require.NoError(t, err)
}
