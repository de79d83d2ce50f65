package ledger

import (
	"reflect"

	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
)

// Counters are what the nodes of a host have counted together. Every number in it is added up, but
// for those tagged `count:"max"`, of which the greatest counts. To add a counter, add a field, here
// or in a struct that is part of it.
type Counters struct {
	Switches switching.Stats
	NICs     nic.Stats
	Notices  uint64 // notices lost, beyond what can be on its way
	Untold   uint64 // observations of packets that were too many to tell
}

// Ended is how many packets have ended at nodes.
func (c *Counters) Ended() uint64 {
	return c.NICs.Delivered + c.NICs.Wrong + c.Switches.Discarded + c.Switches.LostQueue + c.Switches.LostCrash
}

// Add adds o to c.
func (c *Counters) Add(o *Counters) { Add(c, o) }

// Add adds from to to, counter by counter.
func Add[T Counters | switching.Stats | nic.Stats](to, from *T) {
	add(reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem())
}

func add(to, from reflect.Value) {
	combine(to, from, fieldsFor(to.Type()), func(a, b uint64, most bool) uint64 {
		if most {
			return max(a, b)
		}
		return a + b
	})
}

// Sub takes o, an earlier reading, from c. Of what counts as the greatest c stays; nothing gets
// below 0.
func (c *Counters) Sub(o *Counters) {
	combine(reflect.ValueOf(c).Elem(), reflect.ValueOf(o).Elem(), fields[reflect.TypeFor[Counters]()], func(a, b uint64, most bool) uint64 {
		if most {
			return a
		}
		return a - min(a, b)
	})
}

// field is a number in Counters, or a struct of them.
type field struct {
	most   bool // the greatest counts
	signed bool
	parts  []field
}

// fieldsFor are the fields of a type of counters.
func fieldsFor(t reflect.Type) []field {
	if known, ok := fields[t]; ok {
		return known
	}
	return fieldsOf(t)
}

// fields are those of the types that are added up often, constant.
var fields = map[reflect.Type][]field{
	reflect.TypeFor[Counters]():        fieldsOf(reflect.TypeFor[Counters]()),
	reflect.TypeFor[switching.Stats](): fieldsOf(reflect.TypeFor[switching.Stats]()),
	reflect.TypeFor[nic.Stats]():       fieldsOf(reflect.TypeFor[nic.Stats]()),
}

func fieldsOf(t reflect.Type) (list []field) {
	for i := range t.NumField() {
		at := t.Field(i)
		f := field{most: at.Tag.Get("count") == "max", signed: at.Type.Kind() == reflect.Int}
		if at.Type.Kind() == reflect.Struct {
			f.parts = fieldsOf(at.Type)
		}
		list = append(list, f)
	}
	return list
}

// combine makes every number of to what both makes of it and that of from.
func combine(to, from reflect.Value, list []field, both func(a, b uint64, most bool) uint64) {
	for i := range list {
		f, a, b := &list[i], to.Field(i), from.Field(i)
		switch {
		case f.parts != nil:
			combine(a, b, f.parts, both)
		case f.signed:
			a.SetInt(int64(both(uint64(a.Int()), uint64(b.Int()), f.most)))
		default:
			a.SetUint(both(a.Uint(), b.Uint(), f.most))
		}
	}
}
