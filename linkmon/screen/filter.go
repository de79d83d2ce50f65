package screen

import (
	"regexp"
	"strings"

	"github.com/sahilm/fuzzy"
)

// filter chooses lines of a table: those that match a regular expression, that do not (!), or that
// have the letters in order (-f). The zero value lets all pass.
type filter struct {
	text string
	pass func(line string) bool
}

// newFilter reads what was typed after the slash. Text that is no regular expression is searched
// for as it stands.
func newFilter(text string) filter {
	f := filter{text: text}
	switch word, isFuzzy := strings.CutPrefix(text, "-f"); {
	case strings.TrimSpace(text) == "" || text == "!":
		return filter{}
	case isFuzzy && strings.TrimSpace(word) == "":
		return filter{text: text}
	case isFuzzy:
		word = strings.TrimSpace(word)
		f.pass = func(line string) bool { return len(fuzzy.Find(word, []string{line})) > 0 }
	case strings.HasPrefix(text, "!"):
		match := matcher(text[1:])
		f.pass = func(line string) bool { return !match(line) }
	default:
		f.pass = matcher(text)
	}
	return f
}

func matcher(text string) func(string) bool {
	r, err := regexp.Compile("(?i)" + text)
	if err != nil {
		r = regexp.MustCompile("(?i)" + regexp.QuoteMeta(text))
	}
	return r.MatchString
}

// on reports whether f leaves anything out.
func (f filter) on() bool { return f.pass != nil }
