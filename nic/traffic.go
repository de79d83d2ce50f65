package nic

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrTraffic is wrapped by every error about a traffic specification.
var ErrTraffic = errors.New("unusable traffic")

// Traffic says what the NICs of a fabric inject. Values can be compared; equal ones are the same
// traffic.
type Traffic struct {
	Pattern string  // one of Patterns; "" or "none" injects nothing
	Load    float64 // share of the link capacity each NIC that sends offers, above 0, at most 1; 0 for none and trace

	// Radix is of the digits that a permutation, neighbour and tornado take a NIC's number apart
	// into, 2 to 2^18. 0: bits for the permutations; for neighbour and tornado the whole number is
	// one digit.
	Radix int
	// Hot is which NICs of hotspot are hot: how many, drawn at random, as "4", or their names as
	// "n000/n012"; "" is "1".
	Hot string
	// Share is which share of the packets of hotspot goes to hot NICs, beside those that uniform
	// traffic sends there; above 0 and at most 1. 0 means DefaultShare.
	Share float64
	To    string // of incast: the name of the NIC that all send to; "": one drawn at random
	From  int    // of incast: how many NICs send, drawn at random; 0: all others

	Arrivals Arrivals // not for trace, which has times, and sizes, of its own
	Sizes    Sizes    // of the packets; the zero value leaves it to Over.PacketBytes

	File  string // of trace
	Trace *Trace // what that file holds; Open reads it
}

// DefaultShare of the packets goes to hot NICs. Chosen by us.
const DefaultShare = 0.1

// Patterns lists the traffic patterns with a line about each. i is the number of a NIC, from 0 in
// the order of the topology.
func Patterns() [][2]string {
	return [][2]string{
		{"uniform", "each packet to a NIC drawn anew, any but the sender"},
		{"hotspot", "uniform, but a share of all packets goes to a few hot NICs: hot=4 or hot=n000/n012 (1), share=0.1"},
		{"pairwise", "NICs are matched in pairs at random; each sends to its partner only"},
		{"complement", "each bit of i turned over; with radix=k each digit d to k-1-d"},
		{"reversal", "the bits (digits) of i in reverse order"},
		{"transpose", "the upper half of the bits (digits) of i and the lower one swapped"},
		{"shuffle", "the bits (digits) of i rotated by one to the left"},
		{"rotation", "the bits (digits) of i rotated by one to the right"},
		{"neighbour", "i to i+1, the last to 0; with radix=k each digit so"},
		{"tornado", "i to as far round as is just less than half; with radix=k each digit so"},
		{"all-to-all", "i to i+1, i+2 and so on round to i-1, again and again: each in turn to all others, staggered"},
		{"incast", "many to one: all others (or from=8 of them) to one NIC (to=n000, or drawn at random)"},
		{"trace", "the packets of a file: trace:FILE.csv, with a line time_us,src,dst,bytes and then one for each packet"},
		{"none", "nothing is injected"},
	}
}

// option is one key of the text form.
type option struct {
	key   string
	of    []string // the patterns that take it; none: all with a load
	read  func(t *Traffic, value string) error
	print func(t *Traffic) string // "": not given
}

func wholeOption(key string, v func(*Traffic) *int, of ...string) option {
	return option{
		key, of,
		func(t *Traffic, text string) error { return wholeNumber(text, v(t)) },
		func(t *Traffic) string { return wholeText(*v(t)) },
	}
}

func decimalOption(key string, v func(*Traffic) *float64, of ...string) option {
	return option{
		key, of,
		func(t *Traffic, text string) error { return decimal(text, v(t)) },
		func(t *Traffic) string { return decimalText(*v(t)) },
	}
}

func textOption(key string, v func(*Traffic) *string, of ...string) option {
	return option{
		key, of,
		func(t *Traffic, text string) error { *v(t) = text; return nil },
		func(t *Traffic) string { return *v(t) },
	}
}

// options lists all keys, in the order in which String prints them.
func options() []option {
	return []option{
		wholeOption("radix", func(t *Traffic) *int { return &t.Radix },
			"complement", "reversal", "transpose", "shuffle", "rotation", "neighbour", "tornado"),
		textOption("hot", func(t *Traffic) *string { return &t.Hot }, "hotspot"),
		decimalOption("share", func(t *Traffic) *float64 { return &t.Share }, "hotspot"),
		textOption("to", func(t *Traffic) *string { return &t.To }, "incast"),
		wholeOption("from", func(t *Traffic) *int { return &t.From }, "incast"),
		textOption("arrivals", func(t *Traffic) *string { return &t.Arrivals.Process }),
		wholeOption("per", func(t *Traffic) *int { return &t.Arrivals.Per }),
		decimalOption("burst", func(t *Traffic) *float64 { return &t.Arrivals.Burst }),
		decimalOption("duty", func(t *Traffic) *float64 { return &t.Arrivals.Duty }),
		{
			"sizes", nil,
			func(t *Traffic, text string) (err error) { t.Sizes, err = ParseSizes(text); return err },
			func(t *Traffic) string { return t.Sizes.String() },
		},
	}
}

// A value that is written is not what stands for one that is not.
var errZero = errors.New("must be above 0")

func wholeNumber(text string, v *int) error {
	n, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("expected a whole number, found %.80q", text)
	}
	if *v = n; n == 0 {
		return errZero
	}
	return nil
}

func decimal(text string, v *float64) error {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("expected a number, as 0.5, found %.80q", text)
	}
	if *v = x; x == 0 {
		return errZero
	}
	return nil
}

func wholeText(v int) string {
	if v == 0 {
		return ""
	}
	return strconv.Itoa(v)
}

func decimalText(v float64) string {
	if v == 0 {
		return ""
	}
	return number(v)
}

// ParseTraffic reads a pattern, a load and options: "uniform:0.2", "none", "trace:FILE", or
// "hotspot:0.5,hot=4,share=0.1,arrivals=bursts,burst=16,duty=0.25,sizes=64:0.6/1500:0.4". A trace
// is not read yet: see Traffic.Open. Errors wrap ErrTraffic.
func ParseTraffic(s string) (Traffic, error) {
	t, err := parseTraffic(s)
	if err == nil {
		err = t.check()
	}
	if err != nil {
		return t, fmt.Errorf("%w %.80q: %w", ErrTraffic, s, err)
	}
	return t, nil
}

func parseTraffic(s string) (t Traffic, err error) {
	head, rest, loaded := strings.Cut(s, ":")
	if name, _, cut := strings.Cut(head, ","); cut { // the colon is of some option
		return t, fmt.Errorf("expected a load after the pattern, as %.80s:0.2", name)
	}
	t.Pattern = head
	if head == "" {
		return t, errors.New("expected a pattern and a load, as uniform:0.2, or none")
	}
	if err := t.checkPattern(); err != nil {
		return t, err
	}
	switch {
	case head == "none" && loaded:
		return t, errors.New("none takes no load")
	case head == "none":
		return t, nil
	case head == "trace":
		t.File = rest
		return t, nil
	}
	load, rest, more := strings.Cut(rest, ",")
	if t.Load, err = strconv.ParseFloat(load, 64); err != nil {
		return t, fmt.Errorf("expected a load after the colon, as %s:0.2", head)
	}
	given := map[string]bool{}
	for more {
		var part string
		part, rest, more = strings.Cut(rest, ",")
		key, value, ok := strings.Cut(part, "=")
		if !ok || value == "" {
			return t, fmt.Errorf("expected an option as hot=4 or arrivals=bursts, found %.80q", part)
		}
		if given[key] {
			return t, fmt.Errorf("%s is given twice", key)
		}
		given[key] = true
		if err := t.readOption(key, value); err != nil {
			return t, err
		}
	}
	return t, nil
}

func (t *Traffic) readOption(key, value string) error {
	var keys []string
	for _, o := range options() {
		keys = append(keys, o.key)
		if o.key != key {
			continue
		}
		if err := o.read(t, value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	}
	return &UnknownError{Kind: "option", Word: key, Known: keys}
}

// String prints t as ParseTraffic reads it.
func (t Traffic) String() string {
	switch {
	case t.Idle():
		return "none"
	case t.Pattern == "trace":
		return "trace:" + t.File
	}
	var b strings.Builder
	b.WriteString(t.Pattern + ":" + number(t.Load))
	for _, o := range options() {
		if v := o.print(&t); v != "" {
			b.WriteString("," + o.key + "=" + v)
		}
	}
	return b.String()
}

// Largest is the size of the largest packet in bytes; 0 where the traffic leaves the size open.
func (t Traffic) Largest() (bytes int) {
	for _, z := range t.Sizes.list() {
		bytes = max(bytes, z.Bytes)
	}
	if t.Trace != nil {
		for _, p := range t.Trace.packets {
			bytes = max(bytes, int(p.bytes))
		}
	}
	return bytes
}

// Idle reports whether nothing is injected.
func (t Traffic) Idle() bool { return t.Pattern == "" || t.Pattern == "none" }
