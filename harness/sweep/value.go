package sweep

import (
	"errors"
	"strconv"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/invopop/jsonschema"
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
	}
	if *v == "" {
		return wrong(node, "expected a number or a text")
	}
	return nil
}

// JSONSchema describes v.
func (Value) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string", MinLength: new(uint64(1))}, {Type: "number"}, {Type: "boolean"}}}
}

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

// JSONSchema describes s.
func (Some) JSONSchema() *jsonschema.Schema {
	one := Value("").JSONSchema()
	return &jsonschema.Schema{OneOf: append(one.OneOf, &jsonschema.Schema{Type: "array", Items: one, MinItems: new(uint64(1))})}
}

// has reports whether v is among s.
func (s Some) has(v Value) bool {
	for _, w := range s {
		if v.same(w) {
			return true
		}
	}
	return false
}

// wrong is an error that has the place of node.
func wrong(node ast.Node, what string) error {
	if node == nil || node.GetToken() == nil {
		return errors.New(what)
	}
	return &yaml.SyntaxError{Message: what, Token: node.GetToken()}
}
