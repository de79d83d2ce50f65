package settings

import (
	"errors"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/invopop/jsonschema"

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

// JSONSchema describes d.
func (Duration) JSONSchema() *jsonschema.Schema { return Pattern(fault.Duration(0).Pattern()) }

// JSONSchema describes i.
func (Interval) JSONSchema() *jsonschema.Schema {
	none := &jsonschema.Schema{Enum: []any{off, 0}}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{none, Pattern(fault.Duration(0).Pattern())}}
}

// Pattern is the schema of a text that matches re.
func Pattern(re string) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Pattern: re} }

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
