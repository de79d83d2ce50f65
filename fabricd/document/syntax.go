package document

import (
	"fmt"
	"strings"
)

// syntax says in words for the person who wrote the file what the YAML library says for those who
// know its grammar: what is there, and what to write. A message is found by how it begins; one that
// is not here is shown as it is.
var syntax = []struct{ says, ours string }{
	{
		"mapping value is not allowed in this context",
		`a second ": " on one line, or a line that is indented deeper than the one it belongs to: quote a value that has ": " in it, and begin the keys of one mapping in one column`,
	},
	{
		"value is not allowed in this context. map key-value is pre-defined",
		"a value below a key that has one already: write it beside the key, or indent it as part of what is below",
	},
	{"value is not allowed in this context", "a key or value where none can stand: begin the keys of one mapping, and " +
		"the dashes of one list, in one column, and close brackets once"},
	{"unexpected key name", `a line without "key: value": write a colon and a blank after the key`},
	{
		"non-map value is specified",
		`something else than "key: value" among the keys of a mapping: give it a key, or indent it below the one that it belongs to`,
	},
	{"could not find end character of double-quoted text", `a text that begins with " and does not end: close it with "`},
	{"could not find end character of single-quoted text", "a text that begins with ' and does not end: close it with '"},
	{"sequence end token ']' not found", "a list that begins with [ and does not end: close it with ]"},
	{
		"',' or ']' must be specified",
		"a list in brackets whose elements are not separated: write a comma between them, and ] at the end",
	},
	{
		"',' or '}' must be specified",
		"a mapping in braces whose entries are not separated: write a comma between them, and } at the end",
	},
	{"could not find flow map", "a mapping that begins with { and does not end: close it with }"},
	{
		"could not find '[' character corresponding to ']'",
		"a ] without a [ before it: take it out, or put the text in quotes",
	},
	{
		"could not find '{' character corresponding to '}'",
		"a } without a { before it: take it out, or put the text in quotes",
	},
	{"expected sequence element, but found ','", "a comma with nothing before it: take it out, or write the element"},
	{
		"block sequence entries are not allowed in this context",
		"a dash that begins a list where none can stand: begin the list on a line of its own, below its key",
	},
	{"could not find value for mapping key", `a key without a value: write "key: value"`},
	{"could not find map", `a mapping without "key: value"`},
	{"unexpected map key", "a key where none can stand: begin the keys of one mapping in one column"},
	{"undefined map key", "a colon with no key before it: write the key"},
	{"map key definition includes an implicit line break", "a key that goes on in the next line: write it on one line"},
	{"expected map key-value delimiter ':'", `a key without a colon: write "key: value"`},
	{"found an invalid key for this map", `a key that is a list or a mapping: write a word before the colon`},
	{"found character '\t' that cannot start any token", "a tab at the beginning: indent with blanks"},
	{"found a tab character where an indentation space is expected", "a tab at the beginning: indent with blanks"},
	{"tab character cannot", "a tab: use blanks there"},
	{
		"found unknown escape character",
		`a backslash that stands for nothing in double quotes: write \\ for a backslash, or put the text in single quotes`,
	},
	{"not enough length for escaped", `a \u or \U with too few digits after it: write 4 or 8 of them`},
	{
		"found unexpected document separator",
		"the beginning of another document within a text: indent the text, one document to a file",
	},
	{"value cannot be placed after document separator", "something after --- on its line: begin a new line"},
	{"could not find multi-line content", "a | or > with no text below it: write the text on the lines below, indented"},
	{"unexpected scalar value", "a character that begins no value: put the value in quotes"},
	{"unexpected end content", "something after the end of a value: begin a new line, or put all of it in quotes"},
}

// explain is the sentence for what the YAML library says.
func explain(says string) string {
	if option, ok := strings.CutPrefix(says, "invalid header option: "); ok {
		return fmt.Sprintf("%s after the | or > that begins a text of several lines: begin the text on the next line, "+
			"indented, or put it in quotes", option)
	}
	if strings.HasSuffix(says, "is a reserved character") {
		return fmt.Sprintf("%.3s begins a value, and YAML keeps it for itself: put the value in quotes", says)
	}
	if key, at, ok := strings.Cut(says, " already defined at ["); ok {
		line, _, _ := strings.Cut(at, ":")
		return fmt.Sprintf("%s for the second time, first in line %s: leave one of them out",
			strings.TrimPrefix(key, "mapping "), line)
	}
	for _, s := range syntax {
		if strings.HasPrefix(says, s.says) {
			return s.ours
		}
	}
	return says
}
