package bus_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/switch/tables"
)

// fillAll puts something other than zero into every exported field, however deep.
func fillAll(v reflect.Value, r *rand.Rand, depth int) {
	switch v.Type() { // which have a text of their own, and a test where they are
	case reflect.TypeFor[weft.SourceRoute](), reflect.TypeFor[weft.SubHeaders]():
		return
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
		fillAll(v.Elem(), r, depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fillAll(v.Index(i), r, depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fillAll(key, r, depth+1)
		fillAll(value, r, depth+1)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("msgpack") != "-" {
				fillAll(v.Field(i), r, depth+1)
			}
		}
	default:
		panic("nothing is known of " + v.Type().String())
	}
}

// travels has a value with something in every field go to another process and back.
func travels[T any](t *testing.T) {
	t.Helper()
	var zero, v T
	r := rand.New(rand.NewPCG(1, 2))
	fillAll(reflect.ValueOf(&v).Elem(), r, 0)
	for _, v := range []T{zero, v} {
		got, err := bus.Travel(bus.SubjectSwitch, v)
		require.NoError(t, err, "%T", v)
		require.True(t, reflect.DeepEqual(v, got), "%T arrives as something else", v)
	}
}

// All that leaders, hosts, agents and managers say to each other arrives as it was: a field that
// does not, or is new and of a type that cannot, fails here.
func TestWhatHostsSayTravels(t *testing.T) {
	t.Parallel()
	travels[host.SumRequest](t)
	travels[host.Sum](t)
	travels[host.Order](t)
	travels[host.OrderAnswer](t)
	travels[host.ReadRequest](t)
	travels[host.Readings](t)
	travels[host.NodeRequest](t)
	travels[host.Nodes](t)
	travels[host.LoadOrder](t)
	travels[host.LoadAnswer](t)
	travels[host.EndOrder](t)
	travels[host.EventBatch](t)
	travels[host.Spec](t)
	travels[cluster.HostedSpec](t)
	travels[cluster.Room](t)
	travels[fabric.Ports](t)
	travels[fabric.Round](t)
	travels[fault.Reconfiguration](t)
	travels[manager.Charter](t)
	travels[tables.Patch](t)
	travels[bus.Offer](t)
}

// Whatever a process sends is read or refused, and takes no memory that it has not sent.
func FuzzWhatHostsSay(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0xdd, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0x93, 0xcf, 1, 2, 3, 4, 5, 6, 7, 8, 0xdf, 0x7f, 0xff, 0xff, 0xff, 0xc6, 0x7f, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, v := range []any{
			new(host.Sum), new(host.Order), new(host.Readings), new(host.Nodes), new(host.LoadOrder),
			new(host.EventBatch),
		} {
			_ = bus.Read(data, v)
		}
	})
}
