package sweep

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft/fabricd/document"
)

// settingNames are the names of the fields of Settings, in their order.
var settingNames = func() (list []string) {
	for f := range reflect.TypeFor[Settings]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		list = append(list, name)
	}
	return list
}()

// field is the field of that name, a pointer.
func (s *Settings) field(name string) reflect.Value {
	return reflect.ValueOf(s).Elem().Field(slices.Index(settingNames, name))
}

// has reports whether the field of that name is given.
func (s *Settings) has(name string) bool { return !s.field(name).IsNil() }

// text is the field of that name as tables and keys have it, empty when it is not given.
func (s *Settings) text(name string) string {
	f := s.field(name)
	if f.IsNil() {
		return ""
	}
	if x, ok := f.Elem().Interface().(float64); ok {
		return formatFloat(x)
	}
	return fmt.Sprint(f.Elem().Interface())
}

func formatFloat(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// set gives the field of that name a value.
func (s *Settings) set(name string, v Value) error {
	if !slices.Contains(settingNames, name) {
		return document.Unknown("field", name, settingNames)
	}
	f := s.field(name)
	into := reflect.New(f.Type().Elem())
	switch to := into.Interface().(type) {
	case *string:
		*to = string(v)
	case *Value:
		*to = v
	case *int:
		n, err := strconv.Atoi(string(v))
		if err != nil {
			return fmt.Errorf("%s is an integer, found %q", name, v)
		}
		*to = n
	case *float64:
		x, ok := v.number()
		if !ok || math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%s is a number, found %q", name, v)
		}
		*to = x
	case *bool:
		b, err := strconv.ParseBool(string(v))
		if err != nil || string(v) != "true" && string(v) != "false" {
			return fmt.Errorf("%s is true or false, found %q", name, v)
		}
		*to = b
	default:
		return errors.New("sweep: BUG: a field of a type that cannot be set: " + name)
	}
	f.Set(into)
	return nil
}

// settled are settings put together of several, with the place in the file that each field comes
// from.
type settled struct {
	Settings
	from map[string]string // field: YAML path
}

// over lays what o gives over s; path is where o stands in the file.
func (s *settled) over(o *Settings, path string) {
	if s.from == nil {
		s.from = map[string]string{}
	}
	for _, name := range settingNames {
		if o.has(name) {
			s.field(name).Set(o.field(name))
			s.from[name] = path + "." + name
		}
	}
}

// copied is a copy that can be changed without s.
func (s *settled) copied() settled {
	c := settled{Settings: s.Settings, from: make(map[string]string, len(s.from))}
	for k, v := range s.from {
		c.from[k] = v
	}
	return c
}

// get is what p points to, or the zero value.
func get[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
