// Package plain makes what comes from outside harmless to print: names in files, what a NATS server
// or another process says of itself, errors that repeat their input. Characters that a terminal
// would obey are shown as escapes, as \u001b, and what an error repeats is clipped.
package plain

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// obeyed reports whether a terminal does something else with r than show it: control characters but
// for the line feed and the tab, and those that turn the direction of writing or end a line.
func obeyed(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.IsControl(r):
		return true
	}
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x61c ||
		r == 0x2028 || r == 0x2029
}

// Text is text with escapes for what a terminal would obey, and for bytes that are not UTF-8.
func Text(text string) string {
	out, rest := appendText(nil, []byte(text), true)
	if out == nil {
		return text
	}
	return string(append(out, rest...))
}

// appendText appends what is to be printed of text to out, nil when nothing has to be changed.
// Unless it is the end, an incomplete character at the end is left: rest.
func appendText(out, text []byte, end bool) (changed, rest []byte) {
	clean := 0 // text[:clean] is in out, once there is one
	for i := 0; i < len(text); {
		if b := text[i]; b < utf8.RuneSelf && b >= ' ' && b != 0x7f || b == '\n' || b == '\t' {
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && n == 1 && !end && !utf8.FullRune(text[i:]):
			if clean == 0 {
				return nil, text[i:]
			}
			return append(out, text[clean:i]...), text[i:]
		case r == utf8.RuneError && n == 1:
			out = append(out, text[clean:i]...)
			out = fmt.Appendf(out, `\x%02x`, text[i])
			clean = i + n
		case obeyed(r):
			out = append(out, text[clean:i]...)
			out = fmt.Appendf(out, `\u%04x`, r)
			clean = i + n
		}
		i += n
	}
	if clean == 0 {
		return nil, nil
	}
	return append(out, text[clean:]...), nil
}

// Writer prints to another writer what is Text.
type Writer struct {
	to io.Writer

	mu   sync.Mutex // held while it is written to, as by an [os.File]: several goroutines write to standard error
	part []byte     // guarded by mu: of a character that is not whole yet
}

// NewWriter prints to w.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w} }

// Unwrap is the writer below, for what is not text or has escapes of our own.
func (w *Writer) Unwrap() io.Writer { return w.to }

// Write implements [io.Writer].
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := p
	if len(w.part) > 0 {
		text = append(w.part, p...)
	}
	out, rest := appendText(nil, text, false)
	if out == nil {
		out = text[:len(text)-len(rest)]
	}
	w.part = bytes.Clone(rest)
	if _, err := w.to.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// JSON is data with the escapes of Text in its strings: what is decoded of it can be shown
// anywhere. Data that is no JSON is returned as something that is none either.
func JSON(data []byte) []byte {
	var out []byte
	clean := 0
	replace := func(from, to int, by string) {
		out = append(append(out, data[clean:from]...), by...)
		clean = to
	}
	for i := 0; i < len(data); {
		switch b := data[i]; {
		case b == '\\' && i+1 < len(data):
			n := 2
			switch data[i+1] {
			case 'b':
				replace(i, i+2, `\\u0008`)
			case 'f':
				replace(i, i+2, `\\u000c`)
			case 'r':
				replace(i, i+2, `\\u000d`)
			case 'u':
				var r rune
				if n = min(6, len(data)-i); n == 6 {
					if _, err := fmt.Sscanf(string(data[i+2:i+6]), "%04x", &r); err == nil && obeyed(r) {
						replace(i, i+6, fmt.Sprintf(`\\u%04x`, r))
					}
				}
			}
			i += n
		case b < utf8.RuneSelf && b != 0x7f:
			i++ // control characters that are not escaped are no JSON, or stand between values
		default:
			r, n := utf8.DecodeRune(data[i:])
			if obeyed(r) {
				replace(i, i+n, fmt.Sprintf(`\\u%04x`, r))
			}
			i += n
		}
	}
	if clean == 0 {
		return data
	}
	return append(out, data[clean:]...)
}

const (
	maxEcho = 200  // characters of its input that an error repeats
	maxLine = 2000 // characters of a line of an error
)

// Error is the text of an error to print: Text, with what it repeats of its input clipped. Echoes
// are what stands in quotes, words without a blank, and the given words that somebody has typed, of
// more than 200 characters each.
func Error(text string, typed ...string) string {
	for _, word := range typed {
		if utf8.RuneCountInString(word) > maxEcho {
			text = strings.ReplaceAll(text, word, clip(word, maxEcho))
		}
	}
	lines := strings.Split(Text(text), "\n")
	for i, line := range lines {
		if len(line) > maxEcho {
			lines[i] = clip(clipEchoes(line), maxLine)
		}
	}
	return strings.Join(lines, "\n")
}

func clip(text string, most int) string {
	n := 0
	for i := range text {
		if n == most {
			return text[:i] + "..."
		}
		n++
	}
	return text
}

func clipEchoes(line string) string {
	var out strings.Builder
	for line != "" {
		var n int
		switch {
		case line[0] == '"':
			n = quoted(line)
			if body, ok := strings.CutSuffix(line[1:n], `"`); ok && utf8.RuneCountInString(body) > maxEcho {
				out.WriteString(`"` + clip(body, maxEcho) + `"`)
			} else if ok {
				out.WriteString(line[:n])
			} else {
				out.WriteString(clip(line[:n], maxEcho))
			}
		case line[0] == ' ':
			n = 1
			out.WriteByte(' ')
		default:
			if n = strings.IndexAny(line, `" `); n < 0 {
				n = len(line)
			}
			out.WriteString(clip(line[:n], maxEcho))
		}
		line = line[n:]
	}
	return out.String()
}

// quoted is the length of the quoted text that line begins with; of one that does not end, of the
// word.
func quoted(line string) int {
	for i := 1; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	if n := strings.IndexByte(line, ' '); n > 0 {
		return n
	}
	return len(line)
}
