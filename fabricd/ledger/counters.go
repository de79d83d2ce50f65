package ledger

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
)

// Counters are what the nodes of a host have counted together. Every number in it is added up, but
// for those tagged `count:"max"`, of which the greatest counts. To add a counter, add a field, here
// or in a struct that is part of it.
type Counters struct {
	Switches    switching.Stats
	NICs        nic.Stats
	Notices     uint64 // notices lost, beyond what can be on its way
	Unpublished uint64 // observations of packets that were too many to tell
}

// Ended is how many packets have ended at nodes.
func (c *Counters) Ended() uint64 {
	return c.NICs.Delivered + c.NICs.Wrong + c.Switches.Discarded + c.Switches.LostQueue + c.Switches.LostCrash
}

// Add adds o to c.
func (c *Counters) Add(o *Counters) { Add(c, o) }

// Add adds from to to, counter by counter.
func Add[T Counters | switching.Stats | nic.Stats](to, from *T) {
	add(unsafe.Pointer(to), unsafe.Pointer(from), numbers[reflect.TypeFor[T]()])
}

func add(to, from unsafe.Pointer, list []number) {
	combine(to, from, list, func(a, b uint64, most bool) uint64 {
		if most {
			return max(a, b)
		}
		return a + b
	})
}

// sub takes o, an earlier reading, from c. Of what counts as the greatest c stays; nothing gets
// below 0.
func (c *Counters) sub(o *Counters) {
	combine(unsafe.Pointer(c), unsafe.Pointer(o), numbers[reflect.TypeFor[Counters]()],
		func(a, b uint64, most bool) uint64 {
			if most {
				return a
			}
			return a - min(a, b)
		})
}

// number is a counter of a struct.
type number struct {
	offset uintptr
	most   bool // the greatest counts
	signed bool // an int, else a uint64
}

// numbers are the counters of each type that [Add] takes, as reflection finds them once: the nodes
// of a fabric are added up many times a second. Constant.
var numbers = map[reflect.Type][]number{
	reflect.TypeFor[Counters]():        numbersOf(reflect.TypeFor[Counters](), 0),
	reflect.TypeFor[switching.Stats](): numbersOf(reflect.TypeFor[switching.Stats](), 0),
	reflect.TypeFor[nic.Stats]():       numbersOf(reflect.TypeFor[nic.Stats](), 0),
}

// numbersOf lists the counters of a struct that begins at an offset. It panics for a field that is
// neither a counter nor a struct of them.
func numbersOf(t reflect.Type, offset uintptr) (list []number) {
	for i := range t.NumField() {
		f := t.Field(i)
		n := number{offset: offset + f.Offset, most: f.Tag.Get("count") == "max", signed: f.Type.Kind() == reflect.Int}
		switch f.Type.Kind() {
		case reflect.Struct:
			list = append(list, numbersOf(f.Type, n.offset)...)
		case reflect.Int, reflect.Uint64:
			list = append(list, n)
		default:
			panic(fmt.Sprintf("bug: %v.%s is no counter: a counter is a uint64 or an int", t, f.Name))
		}
	}
	return list
}

// combine makes every number of to what both makes of it and that of from. The list is that of the
// type which both point to.
func combine(to, from unsafe.Pointer, list []number, both func(a, b uint64, most bool) uint64) {
	for _, n := range list {
		a, b := unsafe.Add(to, n.offset), unsafe.Add(from, n.offset)
		if n.signed {
			*(*int)(a) = int(both(uint64(*(*int)(a)), uint64(*(*int)(b)), n.most))
		} else {
			*(*uint64)(a) = both(*(*uint64)(a), *(*uint64)(b), n.most)
		}
	}
}
