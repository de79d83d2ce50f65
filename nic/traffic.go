package nic

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft"
)

// ErrTraffic is wrapped by every error about a traffic specification.
var ErrTraffic = errors.New("unusable traffic")

// Rand is a source of random draws, uniform over all values. *math/rand/v2.PCG is one.
type Rand interface{ Uint64() uint64 }

// Traffic says what the NICs of a fabric inject.
type Traffic struct {
	Pattern string  // one of Patterns; "" or "none" injects nothing
	Load    float64 // share of the link capacity each NIC offers, above 0, at most 1
}

// Patterns lists the traffic patterns with a line about each.
func Patterns() [][2]string {
	return [][2]string{
		{"uniform", "each packet to a NIC drawn anew, any but the sender"},
		{"pairwise", "NICs are matched in pairs at random; each sends to its partner only"},
		{"none", "nothing is injected"},
	}
}

// ParseTraffic reads "uniform:0.2", "pairwise:0.5" or "none".
func ParseTraffic(s string) (Traffic, error) {
	pattern, load, hasLoad := strings.Cut(s, ":")
	t := Traffic{Pattern: pattern}
	switch pattern {
	case "none":
		if hasLoad {
			return t, fmt.Errorf("%w %q: none takes no load", ErrTraffic, s)
		}
		return t, nil
	case "uniform", "pairwise":
	default:
		return t, fmt.Errorf("%w %q: the pattern must be uniform, pairwise or none, as uniform:0.2", ErrTraffic, s)
	}
	v, err := strconv.ParseFloat(load, 64)
	if err != nil {
		return t, fmt.Errorf("%w %q: expected a load after the colon, as %s:0.2", ErrTraffic, s, pattern)
	}
	t.Load = v
	return t, t.Validate()
}

// Validate checks the pattern's name and the load.
func (t Traffic) Validate() error {
	switch t.Pattern {
	case "", "none":
		return nil
	case "uniform", "pairwise":
		if !(t.Load > 0 && t.Load <= 1) {
			return fmt.Errorf("%w %s: the load is the share of the link capacity each NIC offers, above 0 and at most 1, not %v", ErrTraffic, t.Pattern, t.Load)
		}
		return nil
	}
	return fmt.Errorf("%w: unknown pattern %q", ErrTraffic, t.Pattern)
}

// String prints t as ParseTraffic reads it.
func (t Traffic) String() string {
	if t.Idle() {
		return "none"
	}
	return t.Pattern + ":" + strconv.FormatFloat(t.Load, 'g', -1, 64)
}

// Idle reports whether nothing is injected.
func (t Traffic) Idle() bool { return t.Pattern == "" || t.Pattern == "none" }

// Destinations draws the destinations of one NIC's packets.
type Destinations interface {
	// Next is where the next packet goes; ok is false when this NIC has nobody to send to, now or later.
	Next(r Rand) (dst weft.NICID, ok bool)
}

// Destinations returns, for each of nics NICs, where it sends by the pattern. r decides what the pattern leaves to chance.
func (t Traffic) Destinations(nics int, r Rand) []Destinations {
	out := make([]Destinations, nics)
	if nics < 2 {
		for i := range out {
			out[i] = nowhere{}
		}
		return out
	}
	switch t.Pattern {
	case "uniform":
		for i := range out {
			out[i] = uniform{self: weft.NICID(i), nics: uint64(nics)}
		}
	case "pairwise":
		order := make([]weft.NICID, nics)
		for i := range order {
			order[i] = weft.NICID(i)
			j := int(below(r, uint64(i+1))) // Fisher and Yates, inside out
			order[i], order[j] = order[j], order[i]
		}
		for i := range out {
			out[i] = nowhere{}
		}
		for i := 0; i+1 < nics; i += 2 {
			a, b := order[i], order[i+1]
			out[a], out[b] = only(b), only(a)
		}
	default:
		for i := range out {
			out[i] = nowhere{}
		}
	}
	return out
}

type uniform struct {
	self weft.NICID
	nics uint64
}

func (u uniform) Next(r Rand) (weft.NICID, bool) {
	d := weft.NICID(below(r, u.nics-1))
	if d >= u.self {
		d++
	}
	return d, true
}

type only weft.NICID

func (o only) Next(Rand) (weft.NICID, bool) { return weft.NICID(o), true }

type nowhere struct{}

func (nowhere) Next(Rand) (weft.NICID, bool) { return 0, false }

// below draws uniformly from 0..n-1 for n < 2^32, by multiplying a 32-bit fraction. The bias is below n / 2^32: under one in
// ten thousand for the largest fabric.
func below(r Rand, n uint64) uint64 {
	return (r.Uint64() >> 32) * n >> 32
}

// gap draws the time to the next arrival of a Poisson process of the given mean interval. It saturates far from Never, so
// that adding it to the time cannot overflow.
func gap(r Rand, mean weft.Time) weft.Time {
	u := (float64(r.Uint64()>>11) + 0.5) / (1 << 53) // in (0, 1)
	return weft.Time(min(-math.Log(u)*float64(mean), float64(weft.Never/2)))
}
