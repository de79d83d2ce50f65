package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/invopop/jsonschema"
)

// Patterned is implemented by types that are written as a text of their own form and read it with
// UnmarshalText.
type Patterned interface {
	Pattern() string // the regular expression (ECMA 262) that every such text matches
}

// Schema is the JSON Schema (draft 2020-12) of files that decode into values of v's type, indented
// and the same on every run. The id is its address, the title its name. Fields are named by their
// yaml tag and described by their jsonschema_description tag; those without omitempty are required,
// and no others are allowed, as [Load] has it.
func Schema(v any, id, title string) ([]byte, error) {
	r := jsonschema.Reflector{FieldNameTag: "yaml", ExpandedStruct: true, Mapper: textTypes}
	s := r.Reflect(v)
	s.ID = jsonschema.ID(id)
	s.Title = title
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // "a <= b" in a description stays readable
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		return nil, fmt.Errorf("schema of %T: %w", v, err)
	}
	return out.Bytes(), nil
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
