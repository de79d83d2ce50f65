package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/weft-fabric/weft/fabricd/document"
)

// strictly decodes one object, and refuses fields that its type does not have. The error for such a
// field names the nearest one that is known there.
func strictly(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		var v any
		if json.NewDecoder(bytes.NewReader(data)).Decode(&v) == nil {
			if unknown := unknownField(reflect.TypeOf(into), v); unknown != nil {
				return unknown
			}
		}
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more follows the object")
	}
	return nil
}

// unknownField is the error for a field of a decoded value that t does not have; nil: there is
// none.
func unknownField(t reflect.Type, v any) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := v.(type) {
	case []any:
		for i := 0; i < len(v) && t.Kind() == reflect.Slice; i++ {
			if err := unknownField(t.Elem(), v[i]); err != nil {
				return err
			}
		}
	case map[string]any:
		if t.Kind() != reflect.Struct {
			return nil
		}
		known := map[string]reflect.Type{}
		for _, f := range reflect.VisibleFields(t) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				known[name] = f.Type
			}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			of := known[strings.ToLower(name)] // as the decoder has it, which ignores case
			if of == nil {
				return document.Unknown("field", name, slices.Sorted(maps.Keys(known)))
			}
			if err := unknownField(of, v[name]); err != nil {
				return err
			}
		}
	}
	return nil
}
