package nic

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft"
)

// Validate checks all that can be checked without knowing the fabric; Traffic.Sources checks the
// rest. Errors wrap ErrTraffic.
func (t Traffic) Validate() error {
	if err := t.check(); err != nil {
		return fmt.Errorf("%w %.80q: %w", ErrTraffic, t.String(), err)
	}
	return nil
}

func (t *Traffic) check() error {
	if err := t.checkPattern(); err != nil {
		return err
	}
	for _, o := range options() {
		if o.of != nil && !slices.Contains(o.of, t.Pattern) && o.print(t) != "" {
			return fmt.Errorf("%s takes no %s, which is for %s", t.Pattern, o.key, strings.Join(o.of, ", "))
		}
	}
	if t.Idle() || t.Pattern == "trace" {
		bare := Traffic{Pattern: t.Pattern, File: t.File, Trace: t.Trace}
		switch {
		case *t != bare || t.Idle() && (t.File != "" || t.Trace != nil):
			return fmt.Errorf("%s takes no load and no options", t.Pattern)
		case t.Pattern == "trace" && t.File == "":
			return errors.New("expected a file, as trace:packets.csv")
		}
		return nil
	}
	switch {
	case t.File != "" || t.Trace != nil:
		return fmt.Errorf("%s takes no file: trace does", t.Pattern)
	case !(t.Load > 0 && t.Load <= 1):
		return fmt.Errorf("the load is the share of the link capacity each NIC offers, above 0 and at most 1, not %v", t.Load)
	case t.Radix != 0 && (t.Radix < 2 || t.Radix > weft.MaxNIC):
		return fmt.Errorf("radix must be 2 to %d, not %d", weft.MaxNIC, t.Radix)
	case t.Share != 0 && !(t.Share > 0 && t.Share <= 1):
		return fmt.Errorf("share is the share of all packets that goes to hot NICs, above 0 and at most 1, not %v", t.Share)
	case t.From < 0 || t.From >= weft.MaxNIC:
		return fmt.Errorf("from is how many NICs send, 1 to %d, not %d", weft.MaxNIC-1, t.From)
	case strings.ContainsAny(t.To, ",/"):
		return fmt.Errorf("to is the name of one NIC, not %.80q", t.To)
	}
	if err := t.checkHot(); err != nil {
		return err
	}
	if err := t.Arrivals.check(); err != nil {
		return err
	}
	return t.Sizes.check()
}

func (t *Traffic) checkPattern() error {
	if t.Pattern == "" {
		return nil
	}
	known := first(Patterns())
	if slices.Contains(known, t.Pattern) {
		return nil
	}
	return &UnknownError{Kind: "pattern", Word: t.Pattern, Known: known}
}

func (t *Traffic) checkHot() error {
	if n, err := strconv.Atoi(t.Hot); err == nil && (n < 1 || n > weft.MaxNIC) {
		return fmt.Errorf("hot is how many NICs are hot, 1 to %d, not %d, or their names, as n000/n012", weft.MaxNIC, n)
	}
	if t.Hot == "" {
		return nil
	}
	names := strings.Split(t.Hot, "/")
	for i, name := range names {
		if name == "" || strings.Contains(name, ",") {
			return fmt.Errorf("hot is how many NICs are hot, as 4, or their names, as n000/n012, not %.80q", t.Hot)
		}
		for _, other := range names[:i] {
			if name == other {
				return fmt.Errorf("hot NIC %s is named twice", name)
			}
		}
	}
	if len(names) > maxHot {
		return fmt.Errorf("at most %d hot NICs can be named, not %d", maxHot, len(names))
	}
	return nil
}

// maxHot bounds the names of hot NICs; more can be asked for by their number.
const maxHot = 64
