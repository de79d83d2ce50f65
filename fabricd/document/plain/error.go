package plain

import "fmt"

// Errorf is fmt.Errorf whose text need not have those of the errors in is, all of which the error
// wraps.
func Errorf(is []error, format string, args ...any) error {
	return worded{fmt.Sprintf(format, args...), is}
}

type worded struct {
	text string
	is   []error
}

// Error implements error.
func (w worded) Error() string { return w.text }

// Unwrap is all that w wraps.
func (w worded) Unwrap() []error { return w.is }
