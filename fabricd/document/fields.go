package document

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/weft-fabric/weft/fabricd/document/nearest"
)

// check walks the document along t and reports every field t does not have and every value of the
// wrong type. The decoder would stop at the first, cannot name the nearest field, and converts what
// is not written: 1.10 to "1.1".
func (d *Doc) check(t reflect.Type) error {
	var errs Errors
	d.checkNode(t, d.root, &errs)
	return errs.Err()
}

func (d *Doc) checkNode(t reflect.Type, node ast.Node, errs *Errors) {
	if errs.Full() {
		return
	}
	null := isNull(node)
	for t.Kind() == reflect.Pointer && (!decodesItself(t) || decodesItself(t.Elem())) {
		if null {
			return
		}
		t = t.Elem()
	}
	if t.Kind() == reflect.Interface {
		return
	}
	if decodesItself(t) {
		d.checkText(t, node, errs)
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		if entries, ok := d.mapping(node, t, errs); ok {
			d.checkStruct(t, node, entries, errs)
		}
	case reflect.Map:
		if null {
			return
		}
		if entries, ok := d.mapping(node, t, errs); ok {
			for _, pair := range entries {
				d.checkNode(t.Elem(), pair.Value, errs)
			}
		}
	case reflect.Slice, reflect.Array:
		if null {
			return
		}
		seq, ok := node.(*ast.SequenceNode)
		if !ok {
			d.mismatch(node, t, errs)
			return
		}
		for _, v := range seq.Values {
			d.checkNode(t.Elem(), v, errs)
		}
	default:
		if !fits(t, node) {
			d.mismatch(node, t, errs)
		}
	}
}

// checkText tries what is written for a type with a text of its own form. The decoder does so too,
// but would not say where the mistake is, and hands 1.10 over as "1.1".
func (d *Doc) checkText(t reflect.Type, node ast.Node, errs *Errors) {
	v := reflect.New(t).Interface()
	if _, ok := v.(Patterned); !ok {
		return
	}
	u, ok := v.(encoding.TextUnmarshaler)
	if !ok {
		return
	}
	s, scalar := node.(ast.ScalarNode)
	if !scalar || isNull(node) || s.GetToken() == nil {
		errs.Add(d.errorAt(place(node), errors.New("found "+found(node)+", expected a text")))
		return
	}
	text := s.GetToken().Value
	if l, ok := node.(*ast.LiteralNode); ok && l.Value != nil {
		text = l.Value.Value
	}
	if err := u.UnmarshalText([]byte(text)); err != nil {
		errs.Add(d.errorAt(place(node), err))
	}
}

func (d *Doc) mapping(node ast.Node, t reflect.Type, errs *Errors) ([]*ast.MappingValueNode, bool) {
	switch node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return pairs(node), true
	}
	d.mismatch(node, t, errs)
	return nil, false
}

func (d *Doc) checkStruct(t reflect.Type, node ast.Node, entries []*ast.MappingValueNode, errs *Errors) {
	known := fields(t)
	seen := make(map[string]bool, len(entries))
	misspelt := false
	for _, pair := range entries {
		name := keyName(pair)
		if i := slices.IndexFunc(known, func(f field) bool { return f.was == name && name != "" }); i >= 0 {
			name = known[i].name
			d.rename(pair, name)
		}
		if seen[name] {
			errs.Add(d.errorAt(place(pair.Key),
				fmt.Errorf("field %q is there by its old name too: leave one of them out", name)))
		}
		seen[name] = true
		if i := slices.IndexFunc(known, func(f field) bool { return f.name == name }); i >= 0 {
			d.checkNode(known[i].typ, pair.Value, errs)
			continue
		}
		misspelt = true
		if !errs.Full() {
			errs.Add(d.errorAt(place(pair.Key), Unknown("field", name, names(known))))
		}
	}
	for _, f := range known {
		if f.required && !seen[f.name] && !misspelt { // one mistake, one error
			errs.Add(d.errorAt(place(node), fmt.Errorf("missing field %q", f.name)))
		}
	}
}

// rename gives an entry that goes by its old name the new one, and warns.
func (d *Doc) rename(pair *ast.MappingValueNode, name string) {
	pos := place(pair.Key)
	pos.File = d.file
	d.warnings = append(d.warnings, fmt.Sprintf("%v: %s is now %s; 0.2.0 removes the old name", pos, keyName(pair), name))
	token := *pair.Key.GetToken()
	token.Value = name
	pair.Key = ast.String(&token)
}

// field is a field of a struct as YAML sees it.
type field struct {
	name     string
	was      string // its old name, which its tag "was" has; empty: it had none
	typ      reflect.Type
	required bool // no omitempty: the rule of the JSON Schema library, so that schema and decoder agree
}

// fields are the fields of t, those of its inline structs included, in order.
func fields(t reflect.Type) []field {
	var known []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(cmp.Or(f.Tag.Get("yaml"), f.Tag.Get("json")), ",")
		has := func(option string) bool { return slices.Contains(strings.Split(options, ","), option) }
		inner := f.Type
		for inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case has("inline") && inner.Kind() == reflect.Struct:
			known = append(known, fields(inner)...)
		case !f.IsExported() || name == "-":
		default:
			required := !has("omitempty") && !has("omitzero")
			known = append(known, field{cmp.Or(name, strings.ToLower(f.Name)), f.Tag.Get("was"), f.Type, required})
		}
	}
	return known
}

func names(known []field) []string {
	list := make([]string, len(known))
	for i, f := range known {
		list[i] = f.name
	}
	slices.Sort(list)
	return list
}

// fits reports whether a scalar is written as t asks for.
func fits(t reflect.Type, node ast.Node) bool {
	switch t.Kind() {
	case reflect.String:
		switch node.(type) {
		case *ast.StringNode, *ast.LiteralNode:
			return true
		}
	case reflect.Bool:
		_, ok := node.(*ast.BoolNode)
		return ok
	case reflect.Float32, reflect.Float64:
		switch node.(type) {
		case *ast.FloatNode, *ast.IntegerNode, *ast.InfinityNode, *ast.NanNode:
			return true
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n, ok := node.(*ast.IntegerNode)
		return ok && inRange(t, n)
	}
	return false
}

func inRange(t reflect.Type, n *ast.IntegerNode) bool {
	v := reflect.New(t).Elem()
	switch x := n.GetValue().(type) {
	case int64:
		if v.CanUint() {
			return x >= 0 && !v.OverflowUint(uint64(x))
		}
		return !v.OverflowInt(x)
	case uint64:
		if v.CanUint() {
			return !v.OverflowUint(x)
		}
		return x <= math.MaxInt64 && !v.OverflowInt(int64(x))
	}
	return false
}

var unmarshalers = []reflect.Type{
	reflect.TypeFor[yaml.BytesUnmarshaler](), reflect.TypeFor[yaml.BytesUnmarshalerContext](),
	reflect.TypeFor[yaml.InterfaceUnmarshaler](), reflect.TypeFor[yaml.InterfaceUnmarshalerContext](),
	reflect.TypeFor[yaml.NodeUnmarshaler](), reflect.TypeFor[yaml.NodeUnmarshalerContext](),
	reflect.TypeFor[encoding.TextUnmarshaler](),
}

// decodesItself reports whether what is written for a t is t's own business, or the decoder's.
func decodesItself(t reflect.Type) bool {
	if t == reflect.TypeFor[time.Duration]() || t == reflect.TypeFor[time.Time]() {
		return true
	}
	return slices.ContainsFunc(unmarshalers, func(u reflect.Type) bool {
		return t.Implements(u) || reflect.PointerTo(t).Implements(u)
	})
}

func (d *Doc) mismatch(node ast.Node, t reflect.Type, errs *Errors) {
	if errs.Full() {
		return
	}
	hint := ""
	if t.Kind() == reflect.String && isNumberOrBool(node) {
		hint = "; put it in quotes"
	}
	if s, ok := node.(*ast.StringNode); ok && reflect.Int <= t.Kind() && t.Kind() <= reflect.Float64 {
		v, err := strconv.ParseFloat(s.Value, 64)
		switch whole := t.Kind() < reflect.Float32; {
		case err != nil || math.IsNaN(v) || math.IsInf(v, 0) || whole && v != math.Trunc(v):
		case whole && math.Abs(v) >= 1<<63:
			errs.Add(d.errorAt(place(node), fmt.Errorf("%s is out of range, expected %s", nearest.Clip(s.Value), Describe(t))))
			return
		default:
			hint = asNumber(v)
		}
	}
	errs.Add(d.errorAt(place(node), errors.New("found "+found(node)+", expected "+Describe(t)+hint)))
}

// asNumber says how to write a number that YAML takes for a text: quotes make it one, and so does
// an exponent without a decimal point, by the rules of YAML 1.1.
func asNumber(v float64) string {
	digits := strconv.FormatFloat(v, 'f', -1, 64)
	if len(digits) > 25 { // who wants to count them
		digits = strconv.FormatFloat(v, 'e', -1, 64)
		if !strings.Contains(digits, ".") {
			digits = strings.Replace(digits, "e", ".0e", 1)
		}
	}
	return "; write " + digits
}

func isNull(node ast.Node) bool {
	_, ok := node.(*ast.NullNode)
	return ok || node == nil
}

func isNumberOrBool(node ast.Node) bool {
	switch node.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return true
	}
	return false
}

// found says what a node is, as an error does.
func found(node ast.Node) string {
	switch n := node.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode:
		return fmt.Sprintf("the text %q", nearest.Clip(n.Value))
	case *ast.LiteralNode:
		return "a text"
	default:
		if tk := node.GetToken(); tk != nil {
			return nearest.Clip(tk.Value)
		}
	}
	return "something else"
}

// Describe says what a type asks for: "an integer from 0 to 255".
func Describe(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "a mapping"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Uint, reflect.Uint64:
		return "an integer of at least 0"
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return fmt.Sprintf("an integer from 0 to %d", uint64(1)<<t.Bits()-1)
	case reflect.Int, reflect.Int64:
		return "an integer"
	case reflect.Int8, reflect.Int16, reflect.Int32:
		return fmt.Sprintf("an integer from %d to %d", int64(-1)<<(t.Bits()-1), int64(1)<<(t.Bits()-1)-1)
	case reflect.Pointer:
		return Describe(t.Elem())
	}
	return "another type (" + t.String() + ")"
}
