package sweep

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft/fabricd/document"
)

// A topology or a routing can have holes, which differ by sample or by axis:
// irregular:{switches},{2*switches},{sample}.

var hole = regexp.MustCompile(`\{([1-9][0-9]{0,5}\*)?([^{}]*)\}`)

// sampleHole is the number of the sample, counted from 1, as seeds of graphs are.
const sampleHole = "sample"

// inHoles are the settings that do nothing but fill holes.
var inHoles = []string{"switches", "links", "most_layers"}

// filled is a text of the settings for a sample, numbered from 0.
func (s *Settings) filled(text string, sample int) (string, error) {
	var wrong error
	out := hole.ReplaceAllStringFunc(text, func(whole string) string {
		parts := hole.FindStringSubmatch(whole)
		times, name := 1, parts[2]
		if parts[1] != "" {
			times, _ = strconv.Atoi(strings.TrimSuffix(parts[1], "*")) // digits, by the expression
		}
		switch {
		case name == sampleHole:
			return strconv.Itoa(times * (sample + 1))
		case !slices.Contains(inHoles, name):
			wrong = document.Unknown("name in braces", name, append([]string{sampleHole}, inHoles...))
		case !s.has(name):
			wrong = fmt.Errorf("%q has %s: give %s in base, or by an axis", text, whole, name)
		default:
			return strconv.Itoa(times * int(s.field(name).Elem().Int()))
		}
		return whole
	})
	return out, wrong
}

// at is the field of that name as keys and seeds of a sample have it. What stands in the holes was
// checked when the file was read.
func (s *Settings) at(name string, sample int) string {
	text := s.text(name)
	if strings.Contains(text, "{") {
		text, _ = s.filled(text, sample)
	}
	return text
}

// unused reports fields that only stand in for holes of which there are none: an axis of them would
// change nothing.
func (s *Settings) unused(bad func(string, error)) {
	for _, name := range inHoles {
		if s.has(name) && !s.holes(name) {
			bad(name, fmt.Errorf("%s is given, and neither topology nor routing has {%s}", name, name))
		}
	}
}

// sampled reports whether each sample has a topology of its own.
func (s *Settings) sampled() bool { return has(s.text("topology"), sampleHole) }

func (s *Settings) holes(name string) bool {
	return has(s.text("topology"), name) || has(s.text("routing"), name) || has(s.text("layers_of"), name)
}

// has reports whether a text has a hole of that name.
func has(text, name string) bool {
	return slices.ContainsFunc(hole.FindAllStringSubmatch(text, -1), func(parts []string) bool { return parts[2] == name })
}
