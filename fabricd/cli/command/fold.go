package command

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Folded is w for sentences: on a terminal, lines that are longer than it is wide go on in the next
// line, at a blank. Each Write is whole lines.
func Folded(w io.Writer) io.Writer { return folded{w} }

type folded struct{ w io.Writer }

// Unwrap is the writer underneath.
func (f folded) Unwrap() io.Writer { return f.w }

// Write implements [io.Writer].
func (f folded) Write(p []byte) (int, error) {
	if _, err := io.WriteString(f.w, fold(string(p), Width(f.w))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// fold breaks the lines of text at blanks so that none has more than width characters, where its
// words allow that. What goes on in a next line is indented as the line, and by two more. A width
// of 0 leaves the text as it is.
func fold(text string, width int) string {
	if width <= 0 {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		line, end := strings.CutSuffix(line, "\n")
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		for first := true; ; first = false {
			at := breakAt(line, width, len(indent))
			if at < 0 {
				out.WriteString(line)
				break
			}
			out.WriteString(strings.TrimRight(line[:at], " ") + "\n")
			if first {
				indent += "  "
			}
			line = indent + strings.TrimLeft(line[at:], " ")
		}
		if end {
			out.WriteByte('\n')
		}
	}
	return out.String()
}

// breakAt is where a line is broken: at the last blank that leaves at most width characters, or
// else the first one there is. It is -1 when the line need not or cannot be broken.
func breakAt(line string, width, indent int) int {
	if utf8.RuneCountInString(strings.TrimRight(line, " ")) <= width {
		return -1
	}
	best, n := -1, 0
	for i, r := range line {
		if r == ' ' && i > indent && strings.TrimLeft(line[i:], " ") != "" {
			if n > width && best >= 0 {
				break
			}
			best = i
		}
		n++
	}
	return best
}

// whole is as many figures of a line of state, which two blanks part, as width characters have room
// for.
func whole(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	text = string([]rune(text)[:width+1])
	if at := strings.LastIndex(text, "  "); strings.TrimSpace(text[:max(at, 0)]) != "" {
		return text[:at]
	}
	return string([]rune(text)[:width])
}
