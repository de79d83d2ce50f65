package settings

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-fabric/weft/fabricd/document/nearest"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// field is the field at a path, which can be set.
func (s *Settings) field(path string) reflect.Value {
	v := reflect.ValueOf(s).Elem()
	for word := range strings.SplitSeq(path, ".") {
		i := 0
		for yamlName(v.Type().Field(i)) != word {
			i++
		}
		v = v.Field(i)
	}
	return v
}

func yamlName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name
}

// Text is the value of a field as it is written; "0", "false" or empty when it is not given.
func (s Settings) Text(path string) string {
	v := s.field(path)
	if v.Kind() == reflect.Float64 {
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}

// Set gives a field the value that text is. The error is that of the text alone, not yet that of
// [Setting.Check].
func (s *Settings) Set(path, text string) (err error) {
	v := s.field(path)
	switch v.Kind() {
	case reflect.Int:
		var n int64
		n, err = strconv.ParseInt(text, 0, strconv.IntSize)
		v.SetInt(n)
	case reflect.Uint64:
		var n uint64
		n, err = strconv.ParseUint(text, 0, 64)
		v.SetUint(n)
	case reflect.Float64:
		var x float64
		x, err = strconv.ParseFloat(text, 64)
		v.SetFloat(x)
	case reflect.Bool:
		var b bool
		b, err = strconv.ParseBool(text)
		v.SetBool(b)
	default:
		v.SetString(text)
		if v.Type() != reflect.TypeFor[string]() && text != off {
			_, err = time.ParseDuration(text)
		}
	}
	return err
}

// Copy gives s the value that the field has in from.
func (s *Settings) Copy(path string, from Settings) { s.field(path).Set(from.field(path)) }

// Kind is what a value is: int, uint, float, bool, duration or string.
func (x Setting) Kind() string {
	switch v := (&Settings{}).field(x.Path); v.Kind() {
	case reflect.Uint64:
		return "uint64"
	case reflect.Float64:
		return "float64"
	case reflect.String:
		if v.Type() != reflect.TypeFor[string]() {
			return "duration"
		}
		return "string"
	default:
		return v.Kind().String()
	}
}

// Bounds are the least and the most in words, as "0s to 24h0m0s".
func (x Setting) Bounds() string {
	word := func(v float64) string {
		switch {
		case x.Kind() == "duration":
			return time.Duration(v).String()
		case x.Kind() == "float64":
			return fmt.Sprint(v)
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return word(x.Least) + " to " + word(x.Most)
}

// Within reports whether a number, or a time in nanoseconds, is in bounds.
func (x Setting) Within(v float64) bool {
	return x.Most == 0 || v >= x.Least && v <= x.Most && !math.IsNaN(v)
}

// Check says what is wrong with the value of a field by itself; of a field that is not given,
// nothing is.
func (x Setting) Check(s Settings) error {
	switch given := s.field(x.Path).Interface().(type) {
	case int, float64:
		if v := s.Number(x.Path); v != 0 && !x.Within(v) {
			return fmt.Errorf("expected %s, found %v", x.Bounds(), given)
		}
	case Duration:
		return x.duration(string(given))
	case Interval:
		if !given.Off() {
			return x.duration(string(given))
		}
	case string:
		if given != "" && x.Words != nil && !slices.Contains(x.Words, given) {
			return nearest.Unknown(x.Name(), given, x.Words)
		}
	}
	return nil
}

func (x Setting) duration(text string) error {
	if text == "" {
		return nil
	}
	if d, err := time.ParseDuration(text); err == nil && !x.Within(float64(d)) {
		return fmt.Errorf("expected %s, found %s", x.Bounds(), text)
	}
	return new(fault.Duration).UnmarshalText([]byte(text))
}

// Mistake is what is wrong with one field.
type Mistake struct {
	Path string
	Err  error
}

// Check says what is wrong with each value by itself.
func (s Settings) Check() (list []Mistake) {
	for _, x := range All() {
		if err := x.Check(s); err != nil {
			list = append(list, Mistake{x.Path, err})
		}
	}
	return list
}

// Number is the value of a field that is a number or a time, in nanoseconds; of others 0.
func (s Settings) Number(path string) float64 {
	switch v := s.field(path).Interface().(type) {
	case int:
		return float64(v)
	case uint64:
		return float64(v)
	case float64:
		return v
	case Duration:
		return float64(v.Time())
	case Interval:
		return float64(Duration(v).Time())
	}
	return 0
}
