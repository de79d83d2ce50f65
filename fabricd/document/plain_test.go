package document_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/document/plain"
	"github.com/weft-fabric/weft/harness/attack"
)

// harmful are all characters that no output may have: written down here once more, as ranges.
func harmful() (list []rune) {
	for _, r := range [][2]rune{
		{0, 8},
		{11, 31},
		{0x7f, 0x9f},
		{0x61c, 0x61c},
		{0x200e, 0x200f},
		{0x2028, 0x202e},
		{0x2066, 0x2069},
	} {
		for c := r[0]; c <= r[1]; c++ {
			list = append(list, c)
		}
	}
	return list
}

func requireHarmless(t *testing.T, text string) {
	t.Helper()
	require.True(t, strings.ToValidUTF8(text, "") == text, "%q", text)
	require.NotContains(t, text, "\x1b")
	for _, r := range harmful() {
		require.False(t, strings.ContainsRune(text, r), "%q has %U", text, r)
	}
}

func TestNothingThatATerminalObeysIsPrinted(t *testing.T) {
	t.Parallel()
	attempts := 0
	for _, r := range harmful() {
		for _, form := range []string{"%c", "a%cb", "é%c\n\tü", "%[1]c%[1]c", "[31m%c[0m"} {
			text := fmt.Sprintf(form, r)
			want := strings.ReplaceAll(text, string(r), fmt.Sprintf(`\u%04x`, r))
			require.Equal(t, want, plain.Text(text))
			require.Equal(t, want, plain.Error(text))
			for cut := range text { // however it is written
				for i := range 2 {
					var out bytes.Buffer
					w := plain.NewWriter(&out)
					for _, piece := range []string{text[:cut+min(i, len(text)-cut)], text[cut+min(i, len(text)-cut):]} {
						n, err := w.Write([]byte(piece))
						require.NoError(t, err)
						require.Equal(t, len(piece), n)
					}
					require.Equal(t, want, out.String())
				}
			}
			data, err := json.Marshal(map[string]string{text: text})
			require.NoError(t, err)
			var back map[string]string
			require.NoError(t, json.Unmarshal(plain.JSON(data), &back), "%s", plain.JSON(data))
			require.Equal(t, map[string]string{want: want}, back)
			// not every writer of JSON escapes as Go's does
			raw := []byte(`["` + strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(text) + `"]`)
			var list []string
			if json.Unmarshal(raw, &list) == nil {
				require.NoError(t, json.Unmarshal(plain.JSON(raw), &list))
				require.Equal(t, []string{want}, list)
			}
			attempts++
		}
	}
	for b := 0x80; b <= 0xff; b++ { // alone it is no character, but some terminals know it
		require.Equal(t, fmt.Sprintf(`a\x%02xb`, b), plain.Text(fmt.Sprintf("a%cb", 'x')[:1]+string([]byte{byte(b)})+"b"))
		attempts++
	}
	attack.Count(t, "characters that a terminal obeys, in every place of a text", attempts)
}

func TestWhatIsHarmlessStays(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r += 7 {
		if unicode.IsPrint(r) {
			require.Equal(t, string(r), plain.Text(string(r)))
		}
	}
	for _, text := range []string{
		"", "a", "line\n\tcell\n", "größer ≥ 3 →", `{"a":"\\u001b \\r \" \u00e9 \ud83d\ude00"}`,
		`C:\\r\\x`,
	} {
		require.Equal(t, text, plain.Text(text))
		require.Equal(t, text, string(plain.JSON([]byte(text))))
		require.Equal(t, text, plain.Error(text))
	}
}

func TestEchoesAreClipped(t *testing.T) {
	t.Parallel()
	long, words := strings.Repeat("x", 82<<10), strings.Repeat("x ", 41<<10)
	for _, c := range []struct{ text, want string }{
		{"open " + long + ": file name too long", "open " + strings.Repeat("x", 200) + "... file name too long"},
		{`unknown command "` + words + `": try`, `unknown command "` + strings.Repeat("x ", 100) + `...": try`},
		{"open " + words + ": file name too long", "open " + strings.Repeat("x ", 100) + "...: file name too long"},
		{"short\n" + long + "\n" + long, "short\n" + strings.Repeat("x", 200) + "...\n" + strings.Repeat("x", 200) + "..."},
		{`a "` + long, `a ` + `"` + strings.Repeat("x", 199) + "..."},
	} {
		require.Equal(t, c.want, plain.Error(c.text, "fabricd", long, words))
	}
	require.Less(t, len(plain.Error(words)), 2100, "what nobody is known to have typed")
	require.Equal(t, strings.Repeat("ü", 200)+"...", plain.Error(strings.Repeat("ü", 201)))
	list := strings.Repeat("known, ", 40)
	require.Equal(t, list, plain.Error(list), "our own words")
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b[2J\u009b\x9b\n")
	f.Fuzz(func(t *testing.T, text string) {
		requireHarmless(t, plain.Text(text))
		requireHarmless(t, plain.Error(text, text))
		data, err := json.Marshal(text)
		require.NoError(t, err)
		var back string
		require.NoError(t, json.Unmarshal(plain.JSON(data), &back))
		requireHarmless(t, back)
	})
}
