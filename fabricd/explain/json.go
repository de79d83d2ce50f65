package explain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
)

// setter puts a JSON value into a question.
type setter func(q *Question, v json.RawMessage) error

// members are what a line may hold, and headerMembers what its header may.
var (
	members = map[string]setter{
		"id":         func(q *Question, v json.RawMessage) error { q.ID = v; return nil },
		"topology":   func(q *Question, v json.RawMessage) error { return text(&q.Topology, v) },
		"routing":    func(q *Question, v json.RawMessage) error { return text(&q.Routing, v) },
		"vcs":        func(q *Question, v json.RawMessage) error { return whole(&q.VCs, v, 1, weft.MaxVCs) },
		"switch":     func(q *Question, v json.RawMessage) error { return ref(&q.Switch, v) },
		"in":         func(q *Question, v json.RawMessage) error { return ref(&q.In, v) },
		"in_port":    func(q *Question, v json.RawMessage) error { return ref(&q.In, v) },
		"vc":         func(q *Question, v json.RawMessage) error { return whole(&q.VC, v, 0, weft.MaxVCs-1) },
		"header":     header,
		"dead_ports": deadPorts,
		"state":      state,
		"free":       func(q *Question, v json.RawMessage) error { return whole(&q.Free, v, 0, weft.MaxBuffer) },
		"random":     func(q *Question, v json.RawMessage) error { return unsigned(&q.Random, v, 64) },
	}
	headerMembers = map[string]setter{
		"src":        func(q *Question, v json.RawMessage) error { return ref(&q.Src, v) },
		"dst":        func(q *Question, v json.RawMessage) error { return ref(&q.Dst, v) },
		"seq":        func(q *Question, v json.RawMessage) error { return unsigned(&q.Header.Seq, v, 64) },
		"size":       func(q *Question, v json.RawMessage) error { return whole(&q.Header.Size, v, 1, weft.MaxPacket) },
		"hops":       func(q *Question, v json.RawMessage) error { return whole(&q.Header.Hops, v, 0, weft.MaxHops) },
		"reroutes":   func(q *Question, v json.RawMessage) error { return whole(&q.Header.Reroutes, v, 0, weft.MaxHops) },
		"port_field": portField,
		"misroute":   func(q *Question, v json.RawMessage) error { return vector(&q.Header.Misroute, v) },
		"route":      route,
		"path":       func(q *Question, v json.RawMessage) error { return whole(&q.Header.Path, v, 0, math.MaxUint16) },
		"layers":     layers,
		"sub":        subHeaders,
	}
	memberNames       = slices.Sorted(maps.Keys(members))
	headerMemberNames = slices.Sorted(maps.Keys(headerMembers))
)

// layers reads a set of layers.
func layers(q *Question, v json.RawMessage) error {
	var set uint64
	if err := vector(&set, v); err != nil {
		return err
	}
	return q.SetLayers(set)
}

// route reads a source route.
func route(q *Question, v json.RawMessage) error {
	var text string
	if err := json.Unmarshal(v, &text); err != nil {
		return fmt.Errorf("found %s, expected a text: %w", v, weft.ErrRoute)
	}
	r, err := weft.ParseSourceRoute(text)
	q.Header.Route = r
	return err
}

// subHeaders reads sub-headers.
func subHeaders(q *Question, v json.RawMessage) error {
	var list string
	if err := text(&list, v); err != nil {
		return fmt.Errorf("%w: %w", err, weft.ErrSubHeaders)
	}
	sub, err := weft.ParseSubHeaders(list)
	q.Header.Sub = sub
	return err
}

var errTwice = errors.New("given twice, expected once")

// Decode reads a question from one JSON object; what the object leaves out stays as it is in q.
// Errors name the member.
func (q *Question) Decode(line []byte) error {
	var whole json.RawMessage
	if err := json.Unmarshal(line, &whole); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return fmt.Errorf("not JSON: %w, at column %d", err, syntax.Offset)
		}
		return fmt.Errorf("not JSON: %w", err)
	}
	seen := make(map[string]bool, len(members))
	err := q.object(line, seen, memberNames, members)
	if err == nil && seen["in"] && seen["in_port"] {
		err = errors.New("in and in_port: they mean the same, expected one of them")
	}
	return err
}

// object sets q from the members of a JSON object whose syntax is right.
func (q *Question) object(data []byte, seen map[string]bool, names []string, known map[string]setter) error {
	return each(data, func(name string, v json.RawMessage) error {
		set, ok := known[name]
		if !ok {
			return document.Unknown("field", name, names)
		}
		if seen[name] {
			return within(name, errTwice)
		}
		seen[name] = true
		return within(name, set(q, v))
	})
}

// each calls f with the members of a JSON object in their order.
func each(data []byte, f func(name string, v json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("found %.80s, expected an object", bytes.TrimSpace(data))
	}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := t.(string) // the syntax has been checked
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return err
		}
		if err := f(name, v); err != nil {
			return err
		}
	}
	return nil
}

func header(q *Question, v json.RawMessage) error {
	return q.object(v, map[string]bool{}, headerMemberNames, headerMembers)
}

func deadPorts(q *Question, v json.RawMessage) error {
	var list []json.RawMessage
	if err := json.Unmarshal(v, &list); err != nil || list == nil {
		return found(v, "a list of ports")
	}
	if len(list) > weft.MaxPorts {
		return fmt.Errorf("%d ports, expected at most %d", len(list), weft.MaxPorts)
	}
	q.Dead = make([]Ref, len(list))
	for i, v := range list {
		if err := ref(&q.Dead[i], v); err != nil {
			return within(strconv.Itoa(i), err)
		}
	}
	return nil
}

func state(q *Question, v json.RawMessage) error {
	q.State = map[string]uint64{}
	return each(v, func(name string, v json.RawMessage) error {
		if _, twice := q.State[name]; twice {
			return within(name, errTwice)
		}
		var value uint64
		err := vector(&value, v)
		q.State[name] = value
		return within(name, err)
	})
}

func found(v json.RawMessage, expected string) error {
	return fmt.Errorf("found %.80s, expected %s", v, expected)
}

func text(to *string, v json.RawMessage) error {
	if len(v) == 0 || v[0] != '"' || json.Unmarshal(v, to) != nil {
		return found(v, "a text")
	}
	return nil
}

// whole reads a whole number from lo to hi.
func whole[N ~int | ~uint16 | ~uint32](to *N, v json.RawMessage, lo, hi int) error {
	n, err := strconv.Atoi(string(v))
	if err != nil || n < lo || n > hi {
		return found(v, fmt.Sprintf("a whole number from %d to %d", lo, hi))
	}
	*to = N(n)
	return nil
}

// unsigned reads a number of so many bits.
func unsigned(to *uint64, v json.RawMessage, width int) error {
	n, err := strconv.ParseUint(string(v), 10, width)
	if err != nil {
		return found(v, fmt.Sprintf("a whole number of at most %d bits", width))
	}
	*to = n
	return nil
}

// ref reads a name or a number.
func ref(to *Ref, v json.RawMessage) error {
	var name string
	if text(&name, v) == nil {
		*to = Name(name)
		return nil
	}
	n, err := strconv.Atoi(string(v))
	if err != nil {
		return found(v, "a name or a number")
	}
	*to = Number(n)
	return nil
}

// vector reads bits, "0101", or a number.
func vector(to *uint64, v json.RawMessage) error {
	var digits string
	if text(&digits, v) != nil {
		return unsigned(to, v, 64)
	}
	n, err := ParseBits(digits)
	*to = n
	return err
}

func portField(q *Question, v json.RawMessage) error {
	n, err := strconv.Atoi(string(v))
	if err != nil || q.SetPortField(n) != nil {
		return found(v, "a port, or -1 or -2")
	}
	return nil
}
