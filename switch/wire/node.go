package wire

import (
	"errors"
	"fmt"
)

// ErrName means that a name cannot stand in a subject.
var ErrName = errors.New("not a valid name")

// MaxName is the most bytes of a node's name.
const MaxName = 64

// ValidateNode checks the name of a node, as it stands in subjects and on the wire. Errors wrap
// ErrName.
func ValidateNode(name string) error {
	ok := len(name) >= 1 && len(name) <= MaxName
	for i := 0; ok && i < len(name); i++ {
		c := name[i]
		ok = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.'
	}
	if !ok {
		return fmt.Errorf("wire: node name %.80q: want 1 to %d of A-Z, a-z, 0-9, '.' and '-': %w", name, MaxName, ErrName)
	}
	return nil
}
