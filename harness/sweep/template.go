package sweep

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft/fabricd/document"
)

// A topology or a routing can have holes, which differ by sample or by axis: irregular:{switches},{links},{sample}.

var hole = regexp.MustCompile(`\{[^{}]*\}`)

// sampleHole is the number of the sample, counted from 1: seeds of graphs are, in papers and in words.
const sampleHole = "{sample}"

// holed are the settings in which holes are filled.
var holed = []string{"topology", "routing", "layers_of"}

// filled is a text of the settings for a sample, numbered from 0.
func (s *Settings) filled(text string, sample int) (string, error) {
	var wrong error
	out := hole.ReplaceAllStringFunc(text, func(name string) string {
		var v *int
		switch name {
		case sampleHole:
			return strconv.Itoa(sample + 1)
		case "{switches}":
			v = s.Switches
		case "{links}":
			v = s.Links
		default:
			wrong = document.Unknown("placeholder", name, []string{"{links}", sampleHole, "{switches}"})
			return name
		}
		if v == nil {
			wrong = fmt.Errorf("%q has %s: give %s in base, or by an axis", text, name, strings.Trim(name, "{}"))
			return name
		}
		return strconv.Itoa(*v)
	})
	return out, wrong
}

// at is the field of that name as keys and seeds of a sample have it. What stands in the holes was checked when the file was read.
func (s *Settings) at(name string, sample int) string {
	text := s.text(name)
	if strings.Contains(text, "{") {
		text, _ = s.filled(text, sample)
	}
	return text
}

// unused reports fields that only stand in for holes of which there are none: an axis of them would change nothing.
func (s *Settings) unused(bad func(string, error)) {
	for _, name := range []string{"switches", "links"} {
		if s.has(name) && !strings.Contains(s.text("topology")+s.text("routing")+s.text("layers_of"), "{"+name+"}") {
			bad(name, fmt.Errorf("%s is given, and neither topology nor routing has {%s}", name, name))
		}
	}
}

// sampled reports whether each sample has a topology of its own.
func (s *Settings) sampled() bool { return strings.Contains(s.text("topology"), sampleHole) }
