package format

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/settings"
)

// These are kept as they are written, so that Parse can say of each what is wrong with it, and
// where, all at once; and so that a file can be written again as it was.

// Names are what a step acts on: one name, or a list of them, all at the same instant.
type Names []string

// UnmarshalYAML reads a name or a list of names.
func (n *Names) UnmarshalYAML(node ast.Node) error {
	list := []ast.Node{node}
	if seq, ok := node.(*ast.SequenceNode); ok {
		list = seq.Values
	}
	for _, v := range list {
		s, ok := v.(*ast.StringNode)
		if !ok || s.Value == "" {
			return wrong(v, "expected a name or a list of names")
		}
		*n = append(*n, s.Value)
	}
	if len(*n) == 0 {
		return wrong(node, "the list is empty, expected the names of what to act on")
	}
	return nil
}

// MarshalYAML writes one name as such.
func (n Names) MarshalYAML() (any, error) {
	if len(n) == 1 {
		return n[0], nil
	}
	return []string(n), nil
}

// JSONSchema implements [document.Schemed].
func (Names) JSONSchema() string {
	const name = `{"type": "string", "minLength": 1}`
	return `{"oneOf": [` + name + `, {"type": "array", "items": ` + name + `, "minItems": 1}]}`
}

// Port is a port of a switch: the name of the neighbour it leads to, or its number.
type Port string

// UnmarshalYAML reads a name or a number.
func (p *Port) UnmarshalYAML(node ast.Node) error {
	switch n := node.(type) {
	case *ast.StringNode:
		*p = Port(n.Value)
	case *ast.IntegerNode:
		*p = Port(node.GetToken().Value)
	}
	if *p == "" {
		return wrong(node, "expected the name of a neighbour or the number of a port")
	}
	return nil
}

// JSONSchema implements [document.Schemed].
func (Port) JSONSchema() string {
	return fmt.Sprintf(`{"oneOf": [{"type": "string", "minLength": 1}, {"type": "integer", "minimum": 0, "maximum": %d}]}`,
		weft.MaxPorts-1)
}

// Duration is a time with its unit, as "10s".
type Duration = settings.Duration

// Percent is a share, as "10%".
type Percent string

// Rate is a data rate, as "100kB/s".
type Rate string

// UnmarshalYAML keeps what is written.
func (p *Percent) UnmarshalYAML(node ast.Node) error { return settings.Scalar((*string)(p), node) }

// UnmarshalYAML keeps what is written.
func (r *Rate) UnmarshalYAML(node ast.Node) error { return settings.Scalar((*string)(r), node) }

// JSONSchema implements [document.Schemed].
func (Percent) JSONSchema() string { return settings.Pattern(fault.Percent(0).Pattern()) }

// JSONSchema implements [document.Schemed].
func (Rate) JSONSchema() string { return settings.Pattern(fault.Rate(0).Pattern()) }

// wrong is an error that has the place of node.
func wrong(node ast.Node, what string) error {
	if node == nil || node.GetToken() == nil {
		return errors.New(what)
	}
	return &yaml.SyntaxError{Message: what, Token: node.GetToken()}
}
