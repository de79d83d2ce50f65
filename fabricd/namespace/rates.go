package namespace

import (
	"slices"
	"strings"
	"unicode"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/namespace/report"
)

// Connection is one of TCP, of what a NIC sends.
type Connection = report.Connection

// maxWord bounds the bytes of a name that a program has, or gives.
const maxWord = 64

// told is what a client tells of its program.
type told struct {
	Program string  `json:"program"`
	Unit    string  `json:"unit"`
	Value   float64 `json:"value"`
}

// rates are those that programs tell. Bound: report.MaxRates.
type rates struct{ list []*rate }

// rate is one of them.
type rate struct {
	report.Rate
	heard weft.Time // when the latest point was told, by the clock of the machine
}

// tell notes what a client tells of its program. of is what the client told before; nil: nothing.
// at is by the clock of the fabric, now by that of the machine.
func (r *rates) tell(of *rate, nic string, t told, at, now weft.Time) *rate {
	after := weft.Time(0)
	if of != nil {
		after = now - of.heard
	}
	if of == nil || of.Program != clip(t.Program) || of.Unit != clip(t.Unit) {
		if of != nil {
			of.Ended = true
		}
		of = &rate{Rate: report.Rate{NIC: nic, Program: clip(t.Program), Unit: clip(t.Unit)}}
		r.list, after = newest(append(r.list, of), report.MaxRates), 0
	}
	of.Points = newest(append(of.Points, report.Point{At: at, Value: t.Value, After: after}), report.MaxPoints)
	of.heard = now
	return of
}

// all is a copy, as it is now by the clock of the machine.
func (r *rates) all(now weft.Time) []report.Rate {
	list := []report.Rate{}
	for _, of := range r.list {
		one := of.Rate
		one.Points, one.Silent = slices.Clone(of.Points), now-of.heard
		list = append(list, one)
	}
	return list
}

func newest[T any](list []T, most int) []T {
	return slices.Delete(list, 0, max(0, len(list)-most))
}

// clip is a word as it may be shown: short, and without what would do something to a terminal.
func clip(word string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(word[:min(len(word), maxWord)], "?"))
}
