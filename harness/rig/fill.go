package rig

import (
	"encoding"
	"math/rand/v2"
	"reflect"
)

// Fill puts something other than zero into every exported field of what v points to, however deep,
// but for those that are tagged `msgpack:"-"` and those that read themselves from a text. What it
// puts there follows from the seed.
func Fill(v any, seed uint64) {
	fill(reflect.ValueOf(v).Elem(), rand.New(rand.NewPCG(seed, 2)))
}

func fill(v reflect.Value, r *rand.Rand) {
	if _, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return // it has a text of its own, and a test where it is
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1 + r.Int64N(1<<(v.Type().Bits()-2)))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1 + r.Uint64N(1<<(v.Type().Bits()-1)))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(r.Float64())
	case reflect.String:
		v.SetString(string(rune('a' + r.IntN(26))))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), r)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), r)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, r)
		fill(value, r)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("msgpack") != "-" {
				fill(v.Field(i), r)
			}
		}
	default:
		panic("nothing is known of " + v.Type().String())
	}
}
