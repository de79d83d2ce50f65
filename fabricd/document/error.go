package document

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// maxErrors is how many mistakes of one file are reported; the rest are counted.
const maxErrors = 10

// Position is a place in a file. Line and Column count from 1, Column in characters; 0 is not
// known.
type Position struct {
	File         string
	Line, Column int
}

// String prints p as compilers do: "fabric.yaml:12:5".
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Error is a mistake at a place in a file.
type Error struct {
	Pos    Position
	Err    error  // what was found and what was expected
	source string // the line
}

// Error prints the mistake in one line: "file:line:col: what was found, what was expected".
func (e *Error) Error() string { return e.Pos.String() + ": " + e.Err.Error() }

// Unwrap returns the mistake without its place.
func (e *Error) Unwrap() error { return e.Err }

// Source shows the line of the mistake with a mark under the column, as two lines; empty when the
// place is not known.
func (e *Error) Source() string {
	if strings.TrimSpace(e.source) == "" {
		return ""
	}
	const before, width = 60, 100 // characters shown of a long line
	line := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' ' // a tab too: the mark below must stand under the right character
		}
		return r
	}, e.source))
	col := min(max(e.Pos.Column-1, 0), len(line))
	if cut := col - before; cut > 0 && len(line) > width {
		line, col = line[cut:], before
	}
	head := fmt.Sprintf("%5d | ", e.Pos.Line)
	text := strings.TrimRight(string(line[:min(len(line), width)]), " ")
	return head + text + "\n" + strings.Repeat(" ", len(head)+col) + "^"
}

// Errorf makes an error that points at the value with that YAML path (see [Doc.At]). It wraps what
// %w names.
func (d *Doc) Errorf(path, format string, args ...any) error {
	return d.errorAt(d.At(path), fmt.Errorf(format, args...))
}

func (d *Doc) errorAt(pos Position, err error) error {
	pos.File = d.file
	return &Error{Pos: pos, Err: err, source: d.line(pos.Line)}
}

// LineError is a mistake at a line of a file that is read line by line; text is the line, or empty.
func LineError(file string, line int, text string, err error) error {
	return &Error{Pos: Position{File: file, Line: line}, Err: err, source: text}
}

// line is line n of the file, from 1, or empty.
func (d *Doc) line(n int) string {
	rest := string(d.data)
	for ; n > 1; n-- {
		_, after, ok := strings.Cut(rest, "\n")
		if !ok {
			return ""
		}
		rest = after
	}
	if n < 1 {
		return ""
	}
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimRight(line, "\r")
}

// Errors collects mistakes, at most [maxErrors] of them. The zero value is empty and ready.
type Errors struct {
	list []error
	more int
}

// Add collects err; nil is ignored.
func (e *Errors) Add(err error) {
	switch {
	case err == nil:
	case e.Full():
		e.more++
	default:
		e.list = append(e.list, err)
	}
}

// Full reports whether no more mistakes will be kept, so that finding more is of little use.
func (e *Errors) Full() bool { return len(e.list) >= maxErrors }

// Len is how many mistakes were added.
func (e *Errors) Len() int { return len(e.list) + e.more }

// Err joins what was collected, one mistake per line; nil when there was none, the mistake itself
// when there was one.
func (e *Errors) Err() error {
	if len(e.list) == 1 {
		return e.list[0]
	}
	list := e.list
	if e.more > 0 {
		list = append(list[:len(list):len(list)], fmt.Errorf("and %d more", e.more))
	}
	return errors.Join(list...)
}
