package ledger

import (
	"reflect"

	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
)

// Counters are what the nodes of a host have counted together. Every number in it is added up, but for those tagged
// `count:"max"`, of which the greatest counts. To add a counter, add a field, here or in a struct that is part of it.
type Counters struct {
	Switches switching.Stats
	NICs     nic.Stats
	Notices  uint64 // notices lost, beyond what can be on its way
	Untold   uint64 // observations of packets that were too many to tell
}

// ended is how many packets have ended at nodes.
func (c *Counters) ended() uint64 {
	return c.NICs.Delivered + c.NICs.Wrong + c.Switches.Discarded + c.Switches.LostQueue + c.Switches.LostCrash
}

// Add adds o to c.
func (c *Counters) Add(o *Counters) {
	to, from := reflect.ValueOf(c).Elem(), reflect.ValueOf(o).Elem()
	for _, n := range numbers {
		a, b := to.FieldByIndex(n.index), from.FieldByIndex(n.index)
		switch {
		case n.max && a.CanInt():
			a.SetInt(max(a.Int(), b.Int()))
		case n.max:
			a.SetUint(max(a.Uint(), b.Uint()))
		case a.CanInt():
			a.SetInt(a.Int() + b.Int())
		default:
			a.SetUint(a.Uint() + b.Uint())
		}
	}
}

// Sub takes o, an earlier reading, from c. Of what counts as the greatest c stays; nothing gets below 0.
func (c *Counters) Sub(o *Counters) {
	to, from := reflect.ValueOf(c).Elem(), reflect.ValueOf(o).Elem()
	for _, n := range numbers {
		a, b := to.FieldByIndex(n.index), from.FieldByIndex(n.index)
		switch {
		case n.max:
		case a.CanInt():
			a.SetInt(a.Int() - min(a.Int(), b.Int()))
		default:
			a.SetUint(a.Uint() - min(a.Uint(), b.Uint()))
		}
	}
}

// number is one number in Counters.
type number struct {
	index []int
	max   bool
}

// numbers are all numbers in Counters, constant.
var numbers = numbersOf(reflect.TypeFor[Counters]())

func numbersOf(t reflect.Type) (list []number) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type.Kind() != reflect.Struct {
			list = append(list, number{f.Index, f.Tag.Get("count") == "max"})
			continue
		}
		for _, n := range numbersOf(f.Type) {
			list = append(list, number{append([]int{i}, n.index...), n.max})
		}
	}
	return list
}
