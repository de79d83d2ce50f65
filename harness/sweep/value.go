package sweep

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Value is a number, a text, true or false, kept as it is written.
type Value string

// UnmarshalYAML reads a single value.
func (v *Value) UnmarshalYAML(node ast.Node) error {
	switch n := node.(type) {
	case *ast.StringNode:
		*v = Value(n.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		*v = Value(node.GetToken().Value)
	case *ast.NanNode, *ast.InfinityNode: // .nan, -.inf: whoever needs a number says that this is none
		*v = Value(strings.Replace(node.GetToken().Value, ".", "", 1))
	}
	if *v == "" {
		return wrong(node, "expected a number or a text")
	}
	return nil
}

// JSONSchema implements [document.Schemed].
func (Value) JSONSchema() string { return `{"oneOf": [` + single + `]}` }

// single is the JSON Schemas of the forms that one value has.
const single = `{"type": "string", "minLength": 1}, {"type": "number"}, {"type": "boolean"}`

// number is v as a number.
func (v Value) number() (float64, bool) {
	f, err := strconv.ParseFloat(string(v), 64)
	return f, err == nil
}

// canonical is v, a number in one way of writing it.
func (v Value) canonical() string {
	if x, ok := v.number(); ok {
		return formatFloat(x)
	}
	return string(v)
}

// same reports whether both are the same text, or the same number written otherwise.
func (v Value) same(w Value) bool { return v == w || v.canonical() == w.canonical() }

// Some are one value or several.
type Some []Value

// UnmarshalYAML reads a value or a list of values.
func (s *Some) UnmarshalYAML(node ast.Node) error {
	list := []ast.Node{node}
	if seq, ok := node.(*ast.SequenceNode); ok {
		list = seq.Values
	}
	for _, n := range list {
		var v Value
		if err := v.UnmarshalYAML(n); err != nil {
			return err
		}
		*s = append(*s, v)
	}
	if len(*s) == 0 {
		return wrong(node, "the list is empty, expected at least one value")
	}
	return nil
}

// JSONSchema implements [document.Schemed].
func (Some) JSONSchema() string {
	return `{"oneOf": [` + single + `, {"type": "array", "items": {"oneOf": [` + single + `]}, "minItems": 1}]}`
}

// has reports whether v is among s.
func (s Some) has(v Value) bool {
	return slices.ContainsFunc(s, v.same)
}

// wrong is an error that has the place of node.
func wrong(node ast.Node, what string) error {
	if node == nil || node.GetToken() == nil {
		return errors.New(what)
	}
	return &yaml.SyntaxError{Message: what, Token: node.GetToken()}
}
