package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"time"

	"github.com/invopop/jsonschema"
)

// Patterned is implemented by types that are written as a text of their own form and read it with
// UnmarshalText.
type Patterned interface {
	Pattern() string // the regular expression (ECMA 262) that every such text matches
}

// Schemed is implemented by types that documents hold in a form of their own. Neither it nor
// [Described] names a type of the schema's library: every package that imports such a type compiles
// the library's generic code once more.
type Schemed interface {
	JSONSchema() string // the JSON Schema of that form
}

// Described is implemented by structs that say more of their fields than tags do.
type Described interface {
	DescribeField(name string) (Field, bool) // false: no more
}

// Field is what a schema says of a field beside its type.
type Field struct {
	Description      string
	Words            []string    // the texts it may be; any when empty
	Minimum, Maximum json.Number // "": no bound
}

// SchemaAddress is where the schema of a kind of file is read, as "scenario": editors and
// validators fetch it there.
func SchemaAddress(kind string) string {
	return "https://raw.githubusercontent.com/weft-fabric/weft/main/docs/schema/" + kind + ".schema.json"
}

// SchemaLine is the comment that has an editor complete and check a YAML file of a kind.
func SchemaLine(kind string) string {
	return "# yaml-language-server: $schema=" + SchemaAddress(kind) + "\n"
}

// Schema is the JSON Schema (draft 2020-12) of files that decode into values of v's type, indented
// and the same on every run; kind, as "scenario", gives its address and title. Fields are named by
// their yaml tag and described by their jsonschema_description tag; those without omitempty are
// required, and no others are allowed, as [Load] has it.
func Schema(v any, kind string) ([]byte, error) {
	s := Reflect(&jsonschema.Reflector{
		FieldNameTag: "yaml", ExpandedStruct: true, Mapper: textTypes,
		Namer: reflect.Type.Name,
	}, v)
	s.ID = jsonschema.ID(SchemaAddress(kind))
	s.Title = "Weft " + kind
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // "a <= b" in a description stays readable
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		return nil, fmt.Errorf("schema of %T: %w", v, err)
	}
	return out.Bytes(), nil
}

// Reflect is the schema of v's type as r has it, with what [Schemed] and [Described] say. r needs a
// Mapper and a Namer.
func Reflect(r *jsonschema.Reflector, v any) *jsonschema.Schema {
	own, described, mapper := jsonschema.Definitions{}, map[string]Described{}, r.Mapper
	r.Mapper = func(t reflect.Type) *jsonschema.Schema {
		switch x := reflect.New(t).Interface().(type) {
		case Schemed:
			s := new(jsonschema.Schema)
			if err := json.Unmarshal([]byte(x.JSONSchema()), s); err != nil {
				panic(fmt.Sprintf("document: BUG: the schema of %v does not decode: %v", t, err))
			}
			own[r.Namer(t)] = s
			return &jsonschema.Schema{Ref: "#/$defs/" + r.Namer(t)}
		case Described:
			described[r.Namer(t)] = x
		}
		return mapper(t)
	}
	s := r.Reflect(v)
	if s.Definitions == nil {
		s.Definitions = jsonschema.Definitions{}
	}
	maps.Copy(s.Definitions, own)
	for name, d := range described {
		of := s.Definitions[name]
		if of == nil && name == r.Namer(reflect.TypeOf(v)) {
			of = s // expanded
		}
		if of != nil {
			describe(of, d)
		}
	}
	return s
}

// describe describes the properties of s.
func describe(s *jsonschema.Schema, d Described) {
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		f, ok := d.DescribeField(p.Key)
		if !ok {
			continue
		}
		p.Value.Description, p.Value.Minimum, p.Value.Maximum = f.Description, f.Minimum, f.Maximum
		for _, w := range f.Words {
			p.Value.Enum = append(p.Value.Enum, w)
		}
	}
}

// textTypes maps the types that are written as text though they may be numbers in Go. It sets
// nothing but the type and the pattern: the description of the field goes beside it.
func textTypes(t reflect.Type) *jsonschema.Schema {
	if t == reflect.TypeFor[time.Duration]() {
		return &jsonschema.Schema{Type: "string"}
	}
	if v, ok := reflect.New(t).Interface().(Patterned); ok {
		return &jsonschema.Schema{Type: "string", Pattern: v.Pattern()}
	}
	return nil
}
