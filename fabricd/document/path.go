package document

import (
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// At finds the value with that YAML path: "$" is the document, ".name" or "['name']" a field, "[3]"
// an element. Where the path leads to nothing, it is the place of the innermost value that is
// there, so that an error about a missing field points at the entry that lacks it.
func (d *Doc) At(path string) Position {
	node := d.root
	for step := range steps(path) {
		next := descend(node, step)
		if next == nil {
			break
		}
		node = next
	}
	pos := place(node)
	pos.File = d.file
	return pos
}

// steps cuts a YAML path into its keys and indices; an index keeps its bracket, "[3", to tell it
// from a key "3".
func steps(path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		rest := strings.TrimPrefix(path, "$")
		for rest != "" {
			var step string
			switch {
			case strings.HasPrefix(rest, "['"):
				step, rest, _ = strings.Cut(rest[2:], "']")
			case rest[0] == '[':
				step, rest, _ = strings.Cut(rest, "]")
			default:
				rest = strings.TrimPrefix(rest, ".")
				end := strings.IndexAny(rest, ".[")
				if end < 0 {
					end = len(rest)
				}
				step, rest = rest[:end], rest[end:]
				if step == "" && rest != "" && rest[0] == '.' {
					return // "..": not a path
				}
			}
			if !yield(step) {
				return
			}
		}
	}
}

func descend(node ast.Node, step string) ast.Node {
	if index, ok := strings.CutPrefix(step, "["); ok {
		seq, isSeq := node.(*ast.SequenceNode)
		i, err := strconv.Atoi(index)
		if !isSeq || err != nil || i < 0 || i >= len(seq.Values) {
			return nil
		}
		return seq.Values[i]
	}
	for _, pair := range pairs(node) {
		if keyName(pair) == step {
			return pair.Value
		}
	}
	return nil
}

// pairs are the entries of a mapping; nil for any other node.
func pairs(node ast.Node) []*ast.MappingValueNode {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

func keyName(pair *ast.MappingValueNode) string {
	if pair.Key == nil || pair.Key.GetToken() == nil {
		return ""
	}
	return pair.Key.GetToken().Value
}

// place is where a node starts. The token of a block mapping or sequence is a ':' or '-' inside it,
// so go to the first.
func place(node ast.Node) Position {
	switch n := node.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return place(n.Values[0])
		}
	case *ast.MappingValueNode:
		if n.Key != nil {
			return place(n.Key)
		}
	}
	if node == nil || node.GetToken() == nil || node.GetToken().Position == nil {
		return Position{}
	}
	p := node.GetToken().Position
	return Position{Line: p.Line, Column: p.Column}
}
