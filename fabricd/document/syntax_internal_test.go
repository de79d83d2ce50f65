package document

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestMistakesOfYAMLAreToldInWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"about: |foo\nx: 1":              `f:1:8: "foo" after the | or > that begins a text of several lines: begin the text on the next line, indented, or put it in quotes`,
		"about: |about: x":               `f:1:8: "about:" after the | or >`,
		"b\nc: 2":                        `f:1:1: a line without "key: value"`,
		"a: 1\n- x":                      `f:2:1: something else than "key: value" among the keys of a mapping`,
		"a:\n  - b: 1\n   c: 2":          "f:3:4: a key or value where none can stand",
		"a: b: c":                        `f:1:4: a second ": " on one line`,
		"a: [b":                          "f:1:4: a list that begins with [ and does not end: close it with ]",
		"a: \"b":                         `f:1:4: a text that begins with " and does not end`,
		"a: @b":                          "f:1:4: '@' begins a value, and YAML keeps it for itself: put the value in quotes",
		"a: 1\na: 2":                     `f:2:1: key "a" for the second time, first in line 1: leave one of them out`,
		"a: 1\n\tb: 2":                   "f:2:1: a tab at the beginning: indent with blanks",
		`a: "\q"`:                        `f:1:6: a backslash that stands for nothing in double quotes`,
		"a: 1e9":                         `f:1:4: found the text "1e9", expected a number; write 1000000000`,
		"a: \"5\"":                       `f:1:4: found the text "5", expected a number; write 5`,
		"a: 1e-9":                        `f:1:4: found the text "1e-9", expected a number; write 0.000000001`,
		"a: 1e99":                        `f:1:4: found the text "1e99", expected a number; write 1.0e+99`,
		"a: many":                        `f:1:4: found the text "many", expected a number`,
		"b: 1e3":                         `f:1:4: found the text "1e3", expected an integer; write 1000`,
		"b: 1e-3":                        `f:1:4: found the text "1e-3", expected an integer`,
		"b: " + strings.Repeat("9", 300): `f:1:4: ` + strings.Repeat("9", 80) + `... is out of range, expected an integer`,
	} {
		_, _, err := Load[struct {
			A     float64 `yaml:"a,omitempty"`
			B     int     `yaml:"b,omitempty"`
			C     int     `yaml:"c,omitempty"`
			About string  `yaml:"about,omitempty"`
		}]("f", []byte(text))
		require.Error(t, err, text)
		require.True(t, strings.HasPrefix(err.Error(), want), "%s\n%s\n%s", text, err, want)
	}
}

const whole = `name: one # a remark
about: |
  Text of
  two lines.
topology: "mesh:2x2"
traffic: 'uniform:0.2'
link: {rate: 1000, delay: 1ms, vcs: [1, 2]}
timeline:
  - at: 1s
    cut: s0-s1
  - at: 2s
    restore: [s0-s1, "s1-s2"]
expect:
  faults:
    - {lost: 0}
  discarded: 0
`

// Every mistake that one wrong character can make of a scenario has a place, and is not told in the
// words of the library's grammar.
func TestOneWrongCharacter(t *testing.T) {
	t.Parallel()
	placed := regexp.MustCompile(`^f:\d+:\d+: `)
	attempts := 0
	for i := 0; i < len(whole); i += testenv.N(1, 4) {
		for _, by := range []string{
			"", ":", ": ", "- ", "\n", "\n ", "\t", "[", "]", "{", "}", ",", `"`, "'", "|", "> x",
			"@", "&", "*", "%", "?", "\\", "\x00", "\xff", "---\n",
		} {
			attempts++
			mutant := whole[:i] + by + whole[i+1:]
			d := &Doc{file: "f", data: []byte(mutant)}
			if err := d.parse(); err != nil {
				require.Regexp(t, placed, err.Error(), mutant)
			}
			tokens := lexer.Tokenize(mutant)
			if d.guard(tokens) != nil {
				continue
			}
			var ye yaml.Error
			if _, err := parser.Parse(tokens, 0); errors.As(err, &ye) {
				require.NotEqual(t, ye.GetMessage(), explain(ye.GetMessage()), "%q has no sentence in syntax.go", ye.GetMessage())
			}
		}
	}
	attack.Count(t, "scenario files with one wrong character", attempts)
}
