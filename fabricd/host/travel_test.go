package host

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic"
)

// Leader and hosts send each other these.
var sent = []reflect.Type{
	reflect.TypeFor[Spec](), reflect.TypeFor[CountersRequest](), reflect.TypeFor[Counters](), reflect.TypeFor[Order](),
	reflect.TypeFor[OrderAnswer](),
	reflect.TypeFor[ReadRequest](), reflect.TypeFor[Readings](), reflect.TypeFor[NodeRequest](), reflect.TypeFor[Nodes](),
	reflect.TypeFor[LoadOrder](), reflect.TypeFor[LoadAnswer](), reflect.TypeFor[EndOrder](),
	reflect.TypeFor[EventBatch](),
}

// What a host in another process cannot read stays where it is: a field that holds an interface or
// a function is for a host that is reached by calls, and says so.
func TestNoInterfaceAndNoFunctionIsSent(t *testing.T) {
	t.Parallel()
	for _, s := range sent {
		require.Empty(t, unsendable(s), "tag it `msgpack:\"-\"`, or have it travel as what it says")
	}
	type inner struct{ Do []func() }
	type order struct {
		inner
		Made    map[string]*nic.Source
		Apart   nic.Source `msgpack:"-"`
		Firm    weft.Core
		Written reflectedByItself
		why     error
	}
	require.Equal(t, []string{"order.inner.Do: func()", "order.Made.To: nic.Destinations", "order.Firm: weft.Core"},
		unsendable(reflect.TypeFor[order]()))
	_ = order{}.why
}

// A field of a message is called as in the code, so that who reads messages and who reads the code
// speak of the same.
func TestFieldsOfMessagesAreCalledAsInTheCode(t *testing.T) {
	t.Parallel()
	word := regexp.MustCompile(`([a-z])([A-Z])`)
	checked := map[reflect.Type]bool{}
	var check func(reflect.Type)
	check = func(m reflect.Type) {
		for k := m.Kind(); k == reflect.Pointer || k == reflect.Slice; k = m.Kind() {
			m = m.Elem()
		}
		if m.PkgPath() != reflect.TypeFor[Spec]().PkgPath() || m.Kind() != reflect.Struct || checked[m] {
			return
		}
		checked[m] = true
		for i := range m.NumField() {
			f := m.Field(i)
			if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag != "" && tag != "-" {
				require.Equal(t, strings.ToLower(word.ReplaceAllString(f.Name, "${1}_$2")), tag, "%v.%s", m, f.Name)
			}
			check(f.Type)
		}
	}
	for _, m := range sent {
		check(m)
	}
	require.Greater(t, len(checked), len(sent))
}

type reflectedByItself struct{ Any any }

func (reflectedByItself) EncodeMsgpack(*msgpack.Encoder) error { return nil }

// unsendable lists the fields of a type that hold an interface or a function and are sent all the
// same.
func unsendable(t reflect.Type) (list []string) {
	seen := map[reflect.Type]bool{}
	var look func(path string, t reflect.Type)
	look = func(path string, t reflect.Type) {
		encoder := reflect.TypeFor[msgpack.CustomEncoder]()
		if t.Kind() != reflect.Interface && (t.Implements(encoder) || reflect.PointerTo(t).Implements(encoder)) {
			return // it writes itself
		}
		switch t.Kind() {
		case reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer:
			list = append(list, fmt.Sprintf("%s: %v", path, t))
		case reflect.Pointer, reflect.Slice, reflect.Array:
			look(path, t.Elem())
		case reflect.Map:
			look(path, t.Key())
			look(path, t.Elem())
		case reflect.Struct:
			if seen[t] {
				return
			}
			seen[t] = true
			for i := range t.NumField() {
				f := t.Field(i)
				name, _, _ := strings.Cut(f.Tag.Get("msgpack"), ",")
				if name != "-" && (f.IsExported() || f.Anonymous) {
					look(path+"."+f.Name, f.Type)
				}
			}
		}
	}
	look(t.Name(), t)
	return list
}
