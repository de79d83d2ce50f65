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
func (Settings) JSONSchemaExtend(s *jsonschema.Schema) { Describe(s, "") }

// JSONSchemaExtend describes the fields.
func (Switch) JSONSchemaExtend(s *jsonschema.Schema) { Describe(s, "switch.") }

// JSONSchemaExtend describes the fields.
func (NIC) JSONSchemaExtend(s *jsonschema.Schema) { Describe(s, "nic.") }

// JSONSchemaExtend describes the fields.
func (Link) JSONSchemaExtend(s *jsonschema.Schema) { Describe(s, "link.") }

// JSONSchemaExtend describes the fields.
func (Liveness) JSONSchemaExtend(s *jsonschema.Schema) { Describe(s, "liveness.") }

// JSONSchemaExtend describes the fields.
func (Damping) JSONSchemaExtend(s *jsonschema.Schema) { Describe(s, "liveness.damping.") }

// JSONSchemaExtend describes the fields.
func (Manager) JSONSchemaExtend(s *jsonschema.Schema) { Describe(s, "manager.") }

// Describe gives the properties of s that are settings, and have no description, that of the
// setting with its default, bounds and words. Their paths begin with prefix.
func Describe(s *jsonschema.Schema, prefix string) {
	for _, x := range All() {
		name, ok := strings.CutPrefix(x.Path, prefix)
		if !ok {
			continue
		}
		p, there := s.Properties.Get(name)
		if !there || p.Description != "" {
			continue
		}
		p.Description = x.sentence()
		for _, w := range x.Words {
			p.Enum = append(p.Enum, w)
		}
		if kind := x.Kind(); x.Most > 0 && (kind == "int" || kind == "float64") {
			p.Minimum, p.Maximum = number(x.Least), number(x.Most)
		}
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
