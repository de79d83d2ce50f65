package command

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/fabricd/document/nearest"
)

// wrongFlag says which flag was meant where cmd has none of that name, and what a value should have
// been in words instead of those of Go's parsers.
func wrongFlag(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return unknownFlag(cmd, unknown)
	}
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	for errors.As(bad.Unwrap(), &bad) { // of a flag by its old name: that of the new one
	}
	want := expected(bad.GetFlag().Value.Type())
	within, bounded := bad.GetFlag().Value.(Bounded)
	switch {
	case want == "": // the flags of ours explain themselves
		return fmt.Errorf("--%s: %w", bad.GetFlag().Name, bad.Unwrap())
	case bounded && (errors.Is(err, errBounds) || errors.Is(err, strconv.ErrRange)):
		want = within.Bounds()
	case bounded:
		want += ", from " + within.Bounds()
	case errors.Is(err, strconv.ErrRange) && bad.GetFlag().Value.Type() == "uint64":
		want += fmt.Sprintf(" to %d", uint64(math.MaxUint64))
	}
	return fmt.Errorf("--%s %s: expected %s", bad.GetFlag().Name, nearest.Clip(bad.GetValue()), want)
}

// unknownFlag names the nearest of the flags that the help shows. It lists none: there are many.
func unknownFlag(cmd *cobra.Command, err *pflag.NotExistError) error {
	name, dashes := err.GetSpecifiedName(), "--"
	if group := err.GetSpecifiedShortnames(); group != "" {
		name, dashes = group, "-" // one letter, or a whole name that lacks a dash
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	hint, meant := "", name
	if name == "firmware" { // the old name of a routing in files
		meant = "routing"
	}
	if near, ok := nearest.Word(meant, names); ok && len(name) > 1 {
		hint = "did you mean --" + near + "? "
	}
	return fmt.Errorf("unknown flag %s%s: %ssee %s --help", dashes, nearest.Clip(name), hint, cmd.CommandPath())
}

// expected says what a value of a type of package pflag is; "" of other types.
func expected(kind string) string {
	switch kind {
	case "uint16":
		return fmt.Sprintf("a whole number from 0 to %d", math.MaxUint16)
	case "int16":
		return fmt.Sprintf("a whole number from %d to %d", math.MinInt16, math.MaxInt16)
	case "uint64":
		return "a whole number from 0"
	case "int":
		return "a whole number"
	case "float64":
		return "a number"
	case "bool":
		return "true or false"
	case "duration":
		return "a time with its unit, as 50ms or 10s"
	}
	return ""
}
