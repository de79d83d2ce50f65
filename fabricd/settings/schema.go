package settings

import (
	"encoding/json"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/weft-fabric/weft/fabricd/document"
)

// DescribeField implements [document.Described].
func (Settings) DescribeField(name string) (document.Field, bool) { return describe(name) }

// DescribeField implements [document.Described].
func (Switch) DescribeField(name string) (document.Field, bool) { return describe("switch." + name) }

// DescribeField implements [document.Described].
func (NIC) DescribeField(name string) (document.Field, bool) { return describe("nic." + name) }

// DescribeField implements [document.Described].
func (Link) DescribeField(name string) (document.Field, bool) { return describe("link." + name) }

// DescribeField implements [document.Described].
func (Liveness) DescribeField(name string) (document.Field, bool) {
	return describe("liveness." + name)
}

// DescribeField implements [document.Described].
func (Damping) DescribeField(name string) (document.Field, bool) {
	return describe("liveness.damping." + name)
}

// DescribeField implements [document.Described].
func (Manager) DescribeField(name string) (document.Field, bool) { return describe("manager." + name) }

// describe describes the setting of a path, if there is one.
func describe(path string) (document.Field, bool) {
	for _, x := range All() {
		if x.Path == path {
			return x.Field(), true
		}
	}
	return document.Field{}, false
}

// Field is the help, the bounds and the words of x, for a schema.
func (x Setting) Field() document.Field {
	f := document.Field{Description: x.sentence(), Words: x.Words}
	if kind := x.Kind(); x.Most > 0 && (kind == "int" || kind == "float64") {
		f.Minimum, f.Maximum = number(x.Least), number(x.Most)
	}
	return f
}

// sentence is the help as a sentence, with the default.
func (x Setting) sentence() string {
	first, size := utf8.DecodeRuneInString(x.Help)
	text := string(unicode.ToUpper(first)) + x.Help[size:]
	if x.Default != "" && x.Default != "0s" {
		text += "; " + x.Default + " unless given"
	}
	return text + "."
}

func number(v float64) json.Number { return json.Number(strconv.FormatFloat(v, 'f', -1, 64)) }
