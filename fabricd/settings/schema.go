package settings

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/invopop/jsonschema"
)

// JSONSchemaExtend describes the fields.
func (Settings) JSONSchemaExtend(s *jsonschema.Schema) { describe(s, "") }

// JSONSchemaExtend describes the fields.
func (Switch) JSONSchemaExtend(s *jsonschema.Schema) { describe(s, "switch.") }

// JSONSchemaExtend describes the fields.
func (NIC) JSONSchemaExtend(s *jsonschema.Schema) { describe(s, "nic.") }

// JSONSchemaExtend describes the fields.
func (Link) JSONSchemaExtend(s *jsonschema.Schema) { describe(s, "link.") }

// JSONSchemaExtend describes the fields.
func (Liveness) JSONSchemaExtend(s *jsonschema.Schema) { describe(s, "liveness.") }

// JSONSchemaExtend describes the fields.
func (Damping) JSONSchemaExtend(s *jsonschema.Schema) { describe(s, "liveness.damping.") }

// JSONSchemaExtend describes the fields.
func (Manager) JSONSchemaExtend(s *jsonschema.Schema) { describe(s, "manager.") }

// describe describes the properties of s, whose paths begin with prefix.
func describe(s *jsonschema.Schema, prefix string) {
	for _, x := range All() {
		if name, ok := strings.CutPrefix(x.Path, prefix); ok {
			x.Describe(s, name)
		}
	}
}

// Describe gives the property of s that is called name, if there is one, the help, bounds and words
// of x.
func (x Setting) Describe(s *jsonschema.Schema, name string) {
	p, ok := s.Properties.Get(name)
	if !ok {
		return
	}
	p.Description = x.sentence()
	for _, w := range x.Words {
		p.Enum = append(p.Enum, w)
	}
	if kind := x.Kind(); x.Most > 0 && (kind == "int" || kind == "float64") {
		p.Minimum, p.Maximum = number(x.Least), number(x.Most)
	}
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
