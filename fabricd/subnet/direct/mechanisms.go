package direct

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft/fabricd/document"
)

// maxIntermediate is the most intermediate nodes of one way that can be asked for. Chosen by us; a
// packet's header has room for three.
const maxIntermediate = 15

// Mechanisms are what a way may use beside adaptive routing (sections 3 and 4, table 1). The zero
// value is nothing: then only those pairs have a way all of whose shortest paths are alive.
type Mechanisms struct {
	Intermediate   int  // I x N: intermediate nodes of one way, at most
	Deterministic  bool // D: adaptive routing may be off, on each sub-path by itself
	Misroute       bool // M: each sub-path may begin with misroutes
	DirectionOrder bool // deterministic sub-paths in direction order even without Misroute; for comparison
	Either         bool // half way round, the source says which way a deterministic sub-path takes; our extension
}

// The words of a set of mechanisms.
const (
	wordNone      = "none"
	wordDirection = "direction-order"
	wordEither    = "either"
)

var words = []string{wordNone, "I", "Ix2", "Ix3", "D", "M", wordDirection, wordEither}

// ErrMechanisms is wrapped by the errors of [Parse] and [Mechanisms.Check].
var ErrMechanisms = errors.New("mechanisms are none, or some of I, IxN, D, M, direction-order and either, as in I+D " +
	"and Ix2+D+M")

// Parse reads mechanisms joined by "+": I (one intermediate node), Ix2 or I*2 (at most two), D
// (deterministic sub-paths), M (misroutes), and the variants direction-order and either, which say
// how deterministic sub-paths go; or "none". The error wraps ErrMechanisms.
func Parse(text string) (m Mechanisms, err error) {
	if strings.EqualFold(strings.TrimSpace(text), wordNone) {
		return m, nil
	}
	seen := ""
	for word := range strings.SplitSeq(text, "+") {
		word = strings.TrimSpace(word)
		key, n, err := m.parse(word)
		switch {
		case err != nil:
			return Mechanisms{}, fmt.Errorf("mechanisms %q: %w: %w", text, err, ErrMechanisms)
		case strings.Contains(seen, key):
			return Mechanisms{}, fmt.Errorf("mechanisms %q: %s is there twice: %w", text, word, ErrMechanisms)
		}
		seen += key
		m.Intermediate += n
	}
	if err := m.Check(); err != nil {
		return Mechanisms{}, fmt.Errorf("mechanisms %q: %w", text, err)
	}
	return m, nil
}

// parse reads one word into m. The key tells it from other mechanisms.
func (m *Mechanisms) parse(word string) (key string, intermediate int, err error) {
	switch lower := strings.ToLower(word); lower {
	case "i":
		return "I", 1, nil
	case "d":
		m.Deterministic = true
		return "D", 0, nil
	case "m":
		m.Misroute = true
		return "M", 0, nil
	case wordDirection:
		m.DirectionOrder = true
		return "o", 0, nil
	case wordEither:
		m.Either = true
		return "e", 0, nil
	default:
		for _, times := range []string{"ix", "i*", "i×"} {
			rest, ok := strings.CutPrefix(strings.ReplaceAll(lower, " ", ""), times)
			if n, err := strconv.ParseUint(rest, 10, 16); ok && err == nil {
				return "I", int(n), nil
			}
		}
		return "", 0, document.Unknown("mechanism", word, words)
	}
}

// Check reports what makes no sense. The error wraps ErrMechanisms.
func (m Mechanisms) Check() error {
	switch {
	case m.Intermediate < 0 || m.Intermediate > maxIntermediate:
		return fmt.Errorf("%d intermediate nodes, at most %d are possible: %w", m.Intermediate, maxIntermediate,
			ErrMechanisms)
	case m.DirectionOrder && !m.Deterministic, m.Either && !m.Deterministic:
		return fmt.Errorf("%s and %s say how deterministic sub-paths go, add D: %w", wordDirection, wordEither, ErrMechanisms)
	}
	return nil
}

// String prints m as Parse reads it.
func (m Mechanisms) String() string {
	list := newUse(m.Intermediate, m.Deterministic, m.Misroute).words()
	if m.DirectionOrder {
		list = append(list, wordDirection)
	}
	if m.Either {
		list = append(list, wordEither)
	}
	return joinWords(list)
}

// InDirectionOrder reports whether deterministic sub-paths and escape channels go in direction
// order X+ Y+ Z+ X- Y- Z- and not by dimension: with misroutes they must (section 4.3).
func (m Mechanisms) InDirectionOrder() bool { return m.Misroute || m.DirectionOrder }

// Includes reports whether every way that less allows is one that m allows.
func (m Mechanisms) Includes(less Mechanisms) bool {
	return m.Intermediate >= less.Intermediate && (m.Misroute || !less.Misroute) &&
		(!less.Deterministic || m.Deterministic && m.InDirectionOrder() == less.InDirectionOrder() &&
			(m.Either || !less.Either))
}

// SubPaths is of how many sub-paths a way has at most, each of which needs an escape channel.
func (m Mechanisms) SubPaths() int { return min(m.Intermediate, maxIntermediate) + 1 }

// Use says which mechanisms one way uses, as a number below Uses. The zero value is none: all
// shortest paths are alive.
type Use uint8

// Uses is how many there are.
const Uses = 1 << 6

const (
	useVia      = maxIntermediate
	useFixed    = 1 << 4
	useMisroute = 1 << 5
)

// newUse is so many intermediate nodes, at most maxIntermediate; with deterministic sub-paths; with
// misroutes.
func newUse(intermediate int, deterministic, misroute bool) (u Use) {
	u = Use(min(max(intermediate, 0), maxIntermediate))
	if deterministic {
		u |= useFixed
	}
	if misroute {
		u |= useMisroute
	}
	return u
}

// Intermediate is the number of intermediate nodes.
func (u Use) Intermediate() int { return int(u & useVia) }

// Deterministic reports whether adaptive routing is off on some sub-path.
func (u Use) Deterministic() bool { return u&useFixed != 0 }

// Misroute reports whether some sub-path has misroutes.
func (u Use) Misroute() bool { return u&useMisroute != 0 }

// String prints u like [Mechanisms], as "I+D".
func (u Use) String() string { return joinWords(u.words()) }

func (u Use) words() (list []string) {
	switch n := u.Intermediate(); {
	case n == 1:
		list = append(list, "I")
	case n > 1:
		list = append(list, "Ix"+strconv.Itoa(n))
	}
	if u.Deterministic() {
		list = append(list, "D")
	}
	if u.Misroute() {
		list = append(list, "M")
	}
	return list
}

func joinWords(list []string) string {
	if len(list) == 0 {
		return wordNone
	}
	return strings.Join(list, "+")
}

// MarshalText writes m as String does.
func (m Mechanisms) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads what MarshalText writes. The error wraps ErrMechanisms.
func (m *Mechanisms) UnmarshalText(text []byte) (err error) {
	*m, err = Parse(string(text))
	return err
}
