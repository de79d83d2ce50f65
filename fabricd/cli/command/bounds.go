package command

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// Bounds on flags, chosen by us.
const (
	MaxWorkers = 256           // each keeps answers of its own
	MaxCount   = 1_000_000_000 // of whatever is counted
	MaxSamples = 1_000_000_000_000
)

// number is the value of a flag that has bounds.
type number interface {
	cmp.Ordered
	int | uint16 | uint64 | float64 | time.Duration
}

// Bounded is the value of a flag that refuses what is out of bounds, and names them.
type Bounded interface {
	pflag.Value
	Bounds() string // as "0s to 1h0m0s"
}

// Bound gives a flag of f, a number or a time, bounds. A flag that is not there, or is of another
// type, is a bug.
func Bound[T number](f *pflag.FlagSet, name string, least, most T) {
	if _, err := get[T](f, name); err != nil {
		panic(fmt.Sprintf("bounds of --%s: %v", name, err))
	}
	flag := f.Lookup(name)
	flag.Value = &bounded[T]{flag.Value, func() (T, error) { return get[T](f, name) }, least, most}
}

// get is the value of a flag of type T.
func get[T number](f *pflag.FlagSet, name string) (v T, err error) {
	var got any
	switch any(v).(type) {
	case int:
		got, err = f.GetInt(name)
	case uint16:
		got, err = f.GetUint16(name)
	case uint64:
		got, err = f.GetUint64(name)
	case float64:
		got, err = f.GetFloat64(name)
	case time.Duration:
		got, err = f.GetDuration(name)
	}
	if err != nil {
		return v, err
	}
	return got.(T), nil
}

type bounded[T number] struct {
	pflag.Value
	get         func() (T, error)
	least, most T
}

// Bounds implements [Bounded].
func (b *bounded[T]) Bounds() string { return fmt.Sprintf("%v to %v", b.least, b.most) }

// Set implements pflag.Value.
func (b *bounded[T]) Set(text string) error {
	if err := b.Value.Set(text); err != nil {
		return err
	}
	v, err := b.get()
	if err == nil && !(v >= b.least && v <= b.most) { // not a number is neither
		err = errBounds
	}
	return err
}

// errBounds is put into words by wrongFlag.
var errBounds = errors.New("out of bounds")
