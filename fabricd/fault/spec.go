package fault

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weft-fabric/weft/fabricd/document"
)

// Spec orders one fault or repair.
type Spec struct {
	Do        Verb      `json:"do" yaml:"do" jsonschema_description:"cut, flap or impair a link, crash a switch; restore a link or switch, restart a switch, heal everything."`
	A         string    `json:"a,omitempty" yaml:"a,omitempty" jsonschema_description:"Node at one end of the link, as s0.00; or the link, as s0.00-s1.00; or the switch that crashes or is restarted."`
	B         string    `json:"b,omitempty" yaml:"b,omitempty" jsonschema_description:"Node at the other end, when a names a node."`
	Direction Direction `json:"direction,omitempty" yaml:"direction,omitempty" jsonschema_description:"to: only from a towards b; from: only from b towards a; both unless given."`
	Silent    bool      `json:"silent,omitempty" yaml:"silent,omitempty" jsonschema_description:"Of cut and flap: nobody is told, the ends must find out."`
	For       Duration  `json:"for,omitempty" yaml:"for,omitempty" jsonschema_description:"The fault ends by itself after this long, as 10s; it lasts unless given."`
	Flap      *Flap     `json:"flap,omitempty" yaml:"flap,omitempty" jsonschema_description:"Of flap: how the link goes down and up."`
	// By is who ordered it, where that is not whoever has sent it; the report says so.
	By string `json:"-" yaml:"-"`

	Impair *Impair `json:"impair,omitempty" yaml:"impair,omitempty" jsonschema_description:"Of impair: what is to suffer; merged with what the link suffers already."`
}

// Validate reports everything in s that is missing, out of range, or contradicts the rest. Whether
// the names are in the fabric is for the fabric to say. The error does not repeat what s is,
// [Spec.String] does.
func (s Spec) Validate() error {
	if err := s.Do.check(); err != nil {
		return err
	}
	var errs document.Errors
	s.validateTarget(&errs)
	s.validateWhen(&errs)
	switch {
	case s.Do == VerbFlap && s.Flap == nil:
		errs.Add(Flap{}.Validate())
	case s.Do == VerbFlap:
		errs.Add(s.Flap.Validate())
	case s.Flap != nil:
		errs.Add(fmt.Errorf("%s with flap parameters: only flap has them", s.Do))
	}
	switch {
	case s.Do == VerbImpair && s.Impair == nil:
		errs.Add(Impair{}.Validate())
	case s.Do == VerbImpair:
		errs.Add(s.Impair.Validate())
	case s.Impair != nil:
		errs.Add(fmt.Errorf("%s with impair parameters: only impair has them", s.Do))
	}
	return errs.Err()
}

// maxName bounds a name, in bytes; that of a link is the longest, with two nodes and two ports.
// Chosen by us.
const maxName = 256

func (s Spec) validateTarget(errs *document.Errors) {
	for _, name := range []string{s.A, s.B} {
		if len(name) > maxName || !utf8.ValidString(name) ||
			strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) }) {
			errs.Add(fmt.Errorf("%s is no name of a node or link: expected printable text, at most %d bytes", shown(name),
				maxName))
			return
		}
	}
	switch {
	case s.Do == VerbHeal:
		if s.A != "" || s.B != "" {
			errs.Add(fmt.Errorf("heal repairs everything: to repair %s alone, restore it", s.target()))
		}
	case s.A == "" && s.B != "":
		errs.Add(fmt.Errorf("%s with b %s but without a: name both ends, or the link as a", s.Do, s.B))
	case s.A == "":
		errs.Add(fmt.Errorf("%s of nothing: name %s", s.Do, s.wanted()))
	case s.B != "" && (s.Do == VerbCrash || s.Do == VerbRestart):
		errs.Add(fmt.Errorf("%s with two names, %s and %s: name %s", s.Do, s.A, s.B, s.wanted()))
	case s.A == s.B:
		errs.Add(fmt.Errorf("%s of a link from %s to itself: name its two ends", s.Do, s.A))
	}
	if err := s.Direction.check(); err != nil {
		errs.Add(err)
	} else if s.Direction != "" && !s.Do.ofLink() && s.Do != VerbRestore {
		errs.Add(fmt.Errorf("%s with direction %s: only a link has directions", s.Do, s.Direction))
	}
}

// wanted is what A should name.
func (s Spec) wanted() string {
	switch s.Do {
	case VerbCrash, VerbRestart:
		return "a switch"
	case VerbRestore:
		return "a link, by its name or its two ends, or a switch"
	}
	return "a link, by its name or its two ends"
}

func (s Spec) validateWhen(errs *document.Errors) {
	if s.Silent && s.Do != VerbCut && s.Do != VerbFlap {
		why := "only cut and flap can be"
		if s.Do == VerbCrash {
			why = "its neighbours lose signal when it dies; to stop them hearing of it, cut its links silently"
		}
		errs.Add(fmt.Errorf("silent %s: %s", s.Do, why))
	}
	if s.For == 0 {
		return
	}
	errs.Add(s.For.check("for"))
	switch {
	case !s.Do.ofLink() && s.Do != VerbCrash:
		errs.Add(fmt.Errorf("%s for %v: only a fault ends by itself, a repair does not", s.Do, s.For))
	case s.Flap != nil && s.Flap.Count > 0:
		errs.Add(errors.New("flap with both count and for: either ends it, give one"))
	}
}

// target is what s is about: "s0.00-s1.00".
func (s Spec) target() string {
	switch {
	case s.A == "" && s.B == "":
		return "everything"
	case s.A == "" || s.B == "":
		return s.A + s.B
	}
	return s.A + "-" + s.B
}

// String prints s in one line: "cut s0-s1 silently, s0 to s1, for 10s".
func (s Spec) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", s.Do, s.target())
	if s.Silent {
		b.WriteString(" silently")
	}
	if between := s.Direction.between(s.target()); between != "" {
		b.WriteString(", " + between)
	}
	if s.Flap != nil {
		b.WriteString(", " + s.Flap.String())
	}
	if s.Impair != nil {
		b.WriteString(", " + s.Impair.String())
	}
	if s.For != 0 {
		fmt.Fprintf(&b, ", for %v", s.For)
	}
	return b.String()
}

// between tells a single direction of the link with that name: "s0 to s1". It is empty for both.
func (d Direction) between(link string) string {
	a, b, ok := strings.Cut(link, "-")
	// else a node has a hyphen in its name, and which is the link's nobody can say here
	ok = ok && !strings.Contains(b, "-")
	switch {
	case d == To && ok:
		return a + " to " + b
	case d == From && ok:
		return b + " to " + a
	case d == To:
		return "from its first end to its second"
	case d == From:
		return "from its second end to its first"
	}
	return ""
}
