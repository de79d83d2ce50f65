package explain

import "errors"

// Error is a mistake in one part of a question.
type Error struct {
	Path string // the part, as it stands in a line: "in_port", "header.dst", "dead_ports.0"
	Err  error  // what was found and what was expected
}

// Error prints the part and the mistake: "header.dst: ...".
func (e *Error) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns the mistake without its place.
func (e *Error) Unwrap() error { return e.Err }

// within says that err is about the member name.
func within(name string, err error) error {
	var inner *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &inner):
		return &Error{name + "." + inner.Path, inner.Err}
	}
	return &Error{name, err}
}
