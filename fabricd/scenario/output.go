package scenario

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"
)

// Bounds of what is kept of the output of a program, chosen by us.
const (
	mostLine   = 64 << 10 // a longer line is looked at in parts
	mostOutput = 16 << 10 // its end, for reports
)

// output is what a program prints. A goroutine writes while others look.
type output struct {
	want    []byte         // a line has it; empty: nothing is wanted
	pattern *regexp.Regexp // or matches it; nil: the text is none

	mu      sync.Mutex
	line    []byte // that is not at its end; bound: mostLine
	tail    []byte // bound: twice mostOutput
	bytes   uint64
	matched bool
}

func newOutput(want string) *output {
	pattern, _ := regexp.Compile(want) // else it is a text alone
	return &output{want: []byte(want), pattern: pattern}
}

// readAll reads to the end.
func (o *output) readAll(r io.Reader) error {
	buffer := make([]byte, 32<<10)
	for {
		n, err := r.Read(buffer)
		o.write(buffer[:n])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (o *output) write(text []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes += uint64(len(text))
	if o.tail = append(o.tail, text...); len(o.tail) > 2*mostOutput {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-mostOutput:]...)
	}
	for len(text) > 0 {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if room := mostLine - len(o.line); len(line) >= room {
			line, rest, whole = text[:room], text[room:], true
		}
		o.line = append(o.line, line...)
		if text = rest; whole {
			o.look()
			o.line = o.line[:0]
		}
	}
}

// look looks at a line; the caller holds mu.
func (o *output) look() {
	if o.matched || len(o.want) == 0 {
		return
	}
	line := bytes.TrimRight(o.line, "\r")
	o.matched = bytes.Contains(line, o.want) || o.pattern != nil && o.pattern.Match(line)
}

// found reports whether a line matched, the one at the end too.
func (o *output) found() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.look()
	return o.matched
}

// end is the end of it, and how many bytes there were.
func (o *output) end() (string, uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.ToValidUTF8(string(o.tail[max(0, len(o.tail)-mostOutput):]), "�"), o.bytes
}

// last is the last line that is not empty.
func (o *output) last() string {
	text, _ := o.end()
	text = strings.TrimRight(text, "\r\n\t ")
	return text[strings.LastIndexByte(text, '\n')+1:]
}
