package topology

import (
	"strconv"
	"strings"
)

// cursor reads a line from left to right.
type cursor struct{ rest string }

func (c *cursor) space() { c.rest = strings.TrimLeft(c.rest, " \t") }

// take reads a text that must be next.
func (c *cursor) take(text string) bool {
	after, ok := strings.CutPrefix(c.rest, text)
	c.rest = after
	return ok
}

// number reads a decimal number of at most 9 digits.
func (c *cursor) number() (int, bool) {
	digits := c.while("0123456789")
	v, err := strconv.Atoi(digits)
	return v, err == nil && len(digits) <= 9
}

// hex reads a hexadecimal number of at most 64 bits, with 0x or without.
func (c *cursor) hex() (uint64, bool) {
	c.take("0x")
	v, err := strconv.ParseUint(c.while("0123456789abcdefABCDEF"), 16, 64)
	return v, err == nil
}

func (c *cursor) while(set string) string {
	after := strings.TrimLeft(c.rest, set)
	got := c.rest[:len(c.rest)-len(after)]
	c.rest = after
	return got
}

// quoted reads a text in quotes.
func (c *cursor) quoted() (string, bool) {
	if !c.take(`"`) {
		return "", false
	}
	text, after, ok := strings.Cut(c.rest, `"`)
	c.rest = after
	return text, ok
}

// quotedToLast reads a text to the last quotes of the line: descriptions may hold some.
func (c *cursor) quotedToLast() (string, bool) {
	i := strings.LastIndexByte(c.rest, '"')
	if i < 1 || c.rest[0] != '"' {
		return "", false
	}
	text := c.rest[1:i]
	c.rest = c.rest[i+1:]
	return text, true
}

// bracketed reads a number in brackets.
func (c *cursor) bracketed() (int, bool) {
	if !c.take("[") {
		return 0, false
	}
	v, ok := c.number()
	return v, c.take("]") && ok
}

// parenthesised reads a GUID in parentheses.
func (c *cursor) parenthesised() (uint64, bool) {
	if !c.take("(") {
		return 0, false
	}
	v, ok := c.hex()
	return v, c.take(")") && ok
}

// external skips "[ext 5]", the number of a port on the outside of its box.
func (c *cursor) external() {
	if c.take("[ext ") {
		_, c.rest, _ = strings.Cut(c.rest, "]")
	}
}

// options skips what ibsim takes after a link: w=4 s=2, its width and speed.
func (c *cursor) options() {
	for {
		first, rest := cutSpace(c.rest)
		if key, value, ok := strings.Cut(first, "="); !ok || len(key) != 1 || value == "" {
			return
		}
		c.rest = rest
	}
}

// guidOf is the GUID in a name as S-0000000000200000, 0 when there is none.
func guidOf(name string) GUID {
	if len(name) != 18 || name[1] != '-' {
		return 0
	}
	v, err := strconv.ParseUint(name[2:], 16, 64)
	if err != nil {
		return 0
	}
	return GUID(v)
}
