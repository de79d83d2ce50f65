package fault

import (
	"cmp"
	"strings"

	"github.com/weft-fabric/weft/fabricd/document"
)

// Verb is what a [Spec] does.
type Verb string

// The faults and the repairs.
const (
	VerbCut    Verb = "cut"    // of a link: nothing comes through
	VerbFlap   Verb = "flap"   // of a link: cut and restored, again and again
	VerbImpair Verb = "impair" // of a link: it loses, delays or slows what it carries
	VerbCrash  Verb = "crash"  // of a switch: it dies and loses all it holds
	// of a link or a switch: it is no longer cut or crashed; of a link that is not cut, its impairment
	// ends
	VerbRestore Verb = "restore"
	VerbRestart Verb = "restart" // of a crashed switch: it starts again, empty
	VerbHeal    Verb = "heal"    // of the fabric: every fault ends
)

// Direction says in which directions a link suffers. The zero value means both.
type Direction string

// The directions of a link with ends A and B.
const (
	To   Direction = "to"   // from A towards B
	From Direction = "from" // from B towards A
	Both Direction = "both"
)

// Verbs are all verbs, the faults first.
func Verbs() []Verb {
	return []Verb{VerbCut, VerbFlap, VerbImpair, VerbCrash, VerbRestore, VerbRestart, VerbHeal}
}

// Directions are all directions.
func Directions() []Direction { return []Direction{To, From, Both} }

// ofLink reports whether v is a fault of a link, which has directions.
func (v Verb) ofLink() bool { return v == VerbCut || v == VerbFlap || v == VerbImpair }

// Pattern is the regular expression of a verb, for schemas.
func (Verb) Pattern() string { return "^(?:" + strings.Join(Words(Verbs()), "|") + ")$" }

// UnmarshalText reads a verb; for a word that is none the error has the nearest and all of them.
func (v *Verb) UnmarshalText(text []byte) error {
	if err := Verb(text).check(); err != nil {
		return err
	}
	*v = Verb(text)
	return nil
}

func (v Verb) check() error { return known("fault or repair", v, Verbs()) }

// AtoB reports whether the direction from A towards B is meant.
func (d Direction) AtoB() bool { return d != From }

// BtoA reports whether the direction from B towards A is meant.
func (d Direction) BtoA() bool { return d != To }

// Pattern is the regular expression of a direction, for schemas.
func (Direction) Pattern() string { return "^(?:" + strings.Join(Words(Directions()), "|") + ")$" }

// MarshalText writes d, "both" for the zero value.
func (d Direction) MarshalText() ([]byte, error) {
	d = cmp.Or(d, Both)
	return []byte(d), nil
}

// UnmarshalText reads a direction; for a word that is none the error has the nearest and all of
// them.
func (d *Direction) UnmarshalText(text []byte) error {
	if err := known("direction", Direction(text), Directions()); err != nil {
		return err
	}
	*d = Direction(text)
	return nil
}

func (d Direction) check() error {
	if d == "" {
		return nil
	}
	return known("direction", d, Directions())
}

// known is the error for a word that is not among all.
func known[W ~string](kind string, word W, all []W) error {
	for _, w := range all {
		if w == word {
			return nil
		}
	}
	return document.Unknown(kind, string(word), Words(all))
}

// Words are those of a type as text.
func Words[W ~string](all []W) []string {
	list := make([]string, len(all))
	for i, w := range all {
		list[i] = string(w)
	}
	return list
}
