package document

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// Bounds on nesting, checked on the tokens because the parser recurses, and is quadratic in the
// depth. Chosen by us: several times what a scenario needs.
const (
	maxFlowDepth   = 64  // [ and { open at once
	maxBlockColumn = 256 // where a line of block style may start; bounds the depth of indentation
	maxPerEntry    = 16  // "- " and ": " between two separators of one line

	// Keys of one mapping in block style: the parser is quadratic in them. 2^14 keys take it under
	// a second.
	maxKeys = 1 << 14
)

// refused are the features of YAML that no file of ours needs.
var refused = map[token.Type]string{
	token.AnchorType:     "an anchor (&)",
	token.AliasType:      "an alias (*)",
	token.TagType:        "a tag (!)",
	token.MergeKeyType:   "a merge key (<<)",
	token.MappingKeyType: `a complex key ("? ")`,
	token.DirectiveType:  "a directive (%)",
}

// guard refuses what the parser must not see.
func (d *Doc) guard(tokens token.Tokens) error {
	depth, entries, line := 0, 0, 0
	var keys [maxBlockColumn + 1]int // keys so far of the open mapping at each column
	for _, tk := range tokens {
		if tk.Position == nil {
			continue
		}
		pos := Position{File: d.file, Line: tk.Position.Line, Column: tk.Position.Column}
		if what, ok := refused[tk.Type]; ok {
			return d.errorAt(pos, fmt.Errorf("%s is not supported here, expected plain keys and values", what))
		}
		if tk.Position.Line != line {
			line, entries = tk.Position.Line, 0
			if depth == 0 {
				col := tk.Position.Column
				if col < 0 || col > maxBlockColumn {
					return d.errorAt(pos, fmt.Errorf("indented to column %d, expected at most %d", col, maxBlockColumn))
				}
				clear(keys[col+1:])
				if tk.Type != token.SequenceEntryType {
					keys[col]++
				}
				if keys[col] > maxKeys {
					return d.errorAt(pos, fmt.Errorf("more than %d keys in one mapping", maxKeys))
				}
			}
		}
		switch tk.Type {
		case token.SequenceStartType, token.MappingStartType:
			depth, entries = depth+1, 0
		case token.SequenceEndType, token.MappingEndType:
			depth = max(depth-1, 0)
		case token.CollectEntryType:
			entries = 0
		case token.SequenceEntryType, token.MappingValueType:
			entries++
		}
		if depth > maxFlowDepth || entries > maxPerEntry {
			return d.errorAt(pos, fmt.Errorf("nested too deeply, expected at most %d brackets and %d entries in one",
				maxFlowDepth, maxPerEntry))
		}
	}
	return nil
}
