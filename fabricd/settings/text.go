package settings

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/weft-fabric/weft/fabricd/fault"
)

// Duration is a time with its unit, as "10s". It is kept as it is written, so that whoever reads
// the file can say what is wrong with it, and where; and so that a file can be written again as it
// was.
type Duration string

// Interval is a Duration, or "off".
type Interval string

// UnmarshalYAML keeps what is written.
func (d *Duration) UnmarshalYAML(node ast.Node) error { return Scalar((*string)(d), node) }

// UnmarshalYAML keeps what is written.
func (i *Interval) UnmarshalYAML(node ast.Node) error { return Scalar((*string)(i), node) }

// JSONSchema implements [document.Schemed].
func (Duration) JSONSchema() string { return Pattern(fault.Duration(0).Pattern()) }

// JSONSchema implements [document.Schemed].
func (Interval) JSONSchema() string {
	return fmt.Sprintf(`{"anyOf": [{"enum": [%q, 0]}, %s]}`, off, Duration("").JSONSchema())
}

// Pattern is the JSON Schema of a text that matches a regular expression.
func Pattern(re string) string {
	text, _ := json.Marshal(re) // a string always encodes
	return fmt.Sprintf(`{"type": "string", "pattern": %s}`, text)
}

// Scalar keeps the text of a single value, a number too: whoever reads the text says better what is
// wrong with it.
func Scalar(s *string, node ast.Node) error {
	switch n := node.(type) {
	case *ast.StringNode:
		*s = n.Value
	case *ast.IntegerNode, *ast.FloatNode:
		*s = node.GetToken().Value
	}
	if *s != "" {
		return nil
	}
	const what = "expected a number and its unit, such as 10s"
	if node == nil || node.GetToken() == nil {
		return errors.New(what)
	}
	return &yaml.SyntaxError{Message: what, Token: node.GetToken()}
}
