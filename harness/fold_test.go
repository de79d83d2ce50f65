package harness

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLoopsAreFolded(t *testing.T) {
	t.Parallel()
	for steps, want := range map[string]string{
		"":                          "",
		"a":                         "a",
		"abab":                      "abab", // a U-turn and back is no loop yet
		"ababab":                    "ab[2x2]",
		"aaaa":                      "a[1x3]",
		"xabcabcabcaby":             "xabc[3x2]aby",
		"aabaabaabaab":              "aab[3x3]", // the longer loop, not the short one in it
		"aaabbbb":                   "a[1x2]b[1x3]",
		strings.Repeat("abcd", 100): "abcd[4x99]",
	} {
		var got strings.Builder
		foldLoops([]byte(steps), func(i int) { got.WriteByte(steps[i]) },
			func(hops, times int) { fmt.Fprintf(&got, "[%dx%d]", hops, times) })
		assert.Equal(t, want, got.String(), steps)
	}
	assert.Equal(t, "the same hop 2 times more", again(1, 2))
	assert.Equal(t, "the same 4 hops 8,190 times more", again(4, 8190))
	assert.Equal(t, "s0 s1 (the same 2 hops 2 times more) s3", route([]string{"s0", "s1", "s0", "s1", "s0", "s1", "s3"}))
}
