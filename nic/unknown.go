package nic

import (
	"fmt"
	"strings"
)

// UnknownError is the error of a word of traffic that has no meaning. A caller that reads it from a
// person can say which of the known words is near.
type UnknownError struct {
	Kind  string // what the word should have been, as "pattern"
	Word  string
	Known []string
}

// Error implements error.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("unknown %s %.80q: known: %s", e.Kind, e.Word, strings.Join(e.Known, ", "))
}
