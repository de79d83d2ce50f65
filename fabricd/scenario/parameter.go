package scenario

import (
	"encoding"
	"fmt"

	"github.com/weft-fabric/weft/fabricd/fault"
)

// read reads the text of a parameter; "" is none, nil.
func read[T any, P interface {
	*T
	encoding.TextUnmarshaler
}](p *parser, path, text string) *T {
	if text == "" {
		return nil
	}
	v := P(new(T))
	if err := v.UnmarshalText([]byte(text)); err != nil {
		p.fail(path, err)
		return nil
	}
	return v
}

// each calls fail for each of the mistakes that err joins.
func each(err error, fail func(error)) {
	if list, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // only what was joined just now
		for _, e := range list.Unwrap() {
			each(e, fail)
		}
		return
	}
	fail(err)
}

// above is the error for a time that must not be 0.
func above(d *fault.Duration, what string) error {
	if d != nil && *d == 0 {
		return fmt.Errorf("%s of 0s: expected a time above that", what)
	}
	return nil
}
