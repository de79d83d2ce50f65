package topology

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft/fabricd/document/nearest"
)

// lookLines is how many lines Looks looks at; chosen by us. Prompts and diagnostics before the
// first block are few.
const lookLines = 100

// looksIBNet says whether the content of a file looks like the format: one of its first lines
// begins a block.
func looksIBNet(data []byte) bool {
	lines := 0
	for line := range strings.Lines(string(data)) {
		if lines++; lines > lookLines {
			return false
		}
		first, rest := cutSpace(strings.TrimSpace(line))
		key, value, _ := strings.Cut(first, "=")
		digits, name := cutSpace(rest)
		_, noNumber := strconv.Atoi(digits)
		switch key {
		case "vendid", "devid", "sysimgguid", "switchguid", "caguid":
			if strings.HasPrefix(value, "0x") {
				return true
			}
		case "Switch", "Ca", "Hca":
			if noNumber == nil && strings.HasPrefix(name, `"`) {
				return true
			}
		case "Chassis":
			if noNumber == nil {
				return true
			}
		}
	}
	return false
}

// cutSpace cuts a text at its first white space.
func cutSpace(text string) (first, rest string) {
	i := strings.IndexAny(text, " \t")
	if i < 0 {
		return text, ""
	}
	return text[:i], strings.TrimLeft(text[i:], " \t")
}

// isDiagnostic reports whether a line is what libibumad, libibmad and the tools print when standard
// error is in the file too: "ibwarn: [4711] ..." and "src/query_smp.c:195; ...".
func isDiagnostic(text string) bool {
	before, after, ok := strings.Cut(text, ": [")
	if ok && after != "" && slices.Contains([]string{"ibwarn", "ibpanic", "ibdebug", "iberror"}, before) {
		return true
	}
	place, _, ok := strings.Cut(text, "; ")
	file, line, source := strings.Cut(place, ".c:")
	return ok && source && file != "" && !strings.ContainsAny(file, " \t\"") && line != "" &&
		strings.Trim(line, "0123456789") == ""
}

// ibKeys are those of blocks, and those that ibsim takes beside.
var ibKeys = []string{
	"vendid", "devid", "sysimgguid", "switchguid", "caguid", "rtguid",
	"switchguids", "hcaguids", "width", "speed", "extspeed",
}

// begins reports whether a line can be the first of a file, comments aside.
func begins(text string) bool {
	first, rest := cutSpace(text)
	key, _, isKey := strings.Cut(first, "=")
	number, after, closed := strings.Cut(strings.TrimPrefix(first, "["), "]")
	switch {
	case isKey:
		return slices.Contains(ibKeys, key)
	case strings.HasPrefix(first, "["):
		return closed && number != "" && strings.Trim(number, "0123456789") == "" && !strings.HasPrefix(after, "#")
	}
	return rest != "" && slices.Contains([]string{"Switch", "Ca", "Hca", "Rt", "Chassis", "Non-Chassis"}, first)
}

// skip leaves a line out, with a warning.
func (p *ibParser) skip(text string) {
	if p.skipped.line == 0 {
		p.skipped = ibSkipped{p.line, text}
	}
	p.warn(p.line, "skipped %q, which is not of the topology", nearest.Clip(text))
}

// maxWarnings bounds what is told of a file; chosen by us.
const maxWarnings = 20

func (p *ibParser) warn(line int, format string, args ...any) {
	switch n := len(p.fabric.Warnings); {
	case n < maxWarnings:
		p.fabric.Warnings = append(p.fabric.Warnings, fmt.Sprintf("%s:%d: %s", p.name, line, fmt.Sprintf(format, args...)))
	case n == maxWarnings:
		p.fabric.Warnings = append(p.fabric.Warnings, fmt.Sprintf("%s: more such lines follow", p.name))
	}
}
