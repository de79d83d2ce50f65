package document_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/document/table"
)

func text(t *testing.T, write func(w *strings.Builder) error) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, write(&b))
	return b.String()
}

func TestATableIsMarkdown(t *testing.T) {
	t.Parallel()
	tab := table.New("link", "lost")
	tab.Row("s0-s1", 7)
	tab.Row("s10-s11, silent", "a|b\nc")
	require.Equal(t, 3, tab.Len())
	require.Equal(t, "| link | lost |\n|---|---|\n| s0-s1 | 7 |\n| s10-s11, silent | a\\|b c |\n",
		text(t, func(w *strings.Builder) error { return tab.Markdown(w) }))
}

func TestColumnsOfTextAreAsWideAsTheirWidestCell(t *testing.T) {
	t.Parallel()
	tab := table.New("link", "lost", "")
	tab.Row("s0-s1", 7, "")
	tab.Row("é", 12, "last")
	require.Equal(t, "link    lost   \ns0-s1   7      \né       12     last\n",
		text(t, func(w *strings.Builder) error { return tab.Text(w) }))
	tab.Gap = 1
	require.Equal(t, "link  lost \ns0-s1 7    \né     12   last\n",
		text(t, func(w *strings.Builder) error { return tab.Text(w) }))
	tab.Right = true
	require.Equal(t, "  link lost     \n s0-s1    7     \n     é   12 last\n",
		text(t, func(w *strings.Builder) error { return tab.Text(w) }))
}

// broken is a writer that is full.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestATableThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	tab := table.New("a")
	require.EqualError(t, tab.Text(broken{}), "full")
	require.EqualError(t, tab.Markdown(broken{}), "full")
}
