package command

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestLongLinesGoOnInTheNextOneAtABlank(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"short\nlines\n", 10, "short\nlines\n"},
		{"one two three four", 9, "one two\n  three\n  four"},
		{"    one two three\n", 11, "    one two\n      three\n"},
		{"watch it:    http://127.0.0.1/#token=A\n", 20, "watch it:\n  http://127.0.0.1/#token=A\n"},
		{"averyverylongword and more\n", 8, "averyverylongword\n  and\n  more\n"},
		{"averyverylongword\n", 8, "averyverylongword\n"},
		{"àéîõü àéîõü\n", 11, "àéîõü àéîõü\n"},
		{"any text", 0, "any text"},
		{"ends in blanks     \n", 14, "ends in blanks     \n"},
	} {
		require.Equal(t, c.want, fold(c.text, c.width), "%q", c.text)
	}
}

func TestWhatIsFoldedHasTheSameWordsAndNoLineThatCouldBeShorter(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("not drained in 10s, so the ledger was not checked: 31472 packets are left; ", 7)
	for width := 1; width < 200; width++ {
		out := fold(text, width)
		require.Equal(t, strings.Fields(text), strings.Fields(out))
		for line := range strings.Lines(out) {
			if strings.Contains(strings.TrimSpace(line), " ") {
				require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, " \n")), width, "%q", line)
			}
		}
	}
}

func TestWhereThereIsNoTerminalNothingIsFolded(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	text := strings.Repeat("word ", 100) + "\n"
	n, err := Folded(&out).Write([]byte(text))
	require.NoError(t, err)
	require.Equal(t, len(text), n)
	require.Equal(t, text, out.String())
}

func TestALineOfStateThatIsTooLongEndsWithAWholeFigure(t *testing.T) {
	t.Parallel()
	const state = "   291s  delivered 24849/s  in flight 115086  lost 47"
	require.Equal(t, state, whole(state, 80))
	require.Equal(t, state, whole(state, len(state)))
	require.Equal(t, "   291s  delivered 24849/s  in flight 115086", whole(state, len(state)-1))
	require.Equal(t, "   291s  delivered 24849/s", whole(state, 27))
	require.Equal(t, "   2", whole(state, 4), "nothing fits")
	require.Equal(t, "ééé", whole("ééééé", 3))
}
