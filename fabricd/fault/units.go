package fault

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/weft-fabric/weft/fabricd/document"
)

// Bounds on what can be ordered. Chosen by us.
const (
	// MaxDuration is the longest time in a [Spec]: longer than any soak, and far from the end of
	// the fabric's clock.
	MaxDuration = 30 * 24 * time.Hour
	// MinRate and MaxRate bound a limited rate, in bytes per second.
	MinRate, MaxRate = 1, 1e15

	maxText = 64 // bytes of a number with its unit
)

// Percent is a share from 0 to 100, written "10%".
type Percent float64

// Duration is a time that is not negative, at most [MaxDuration], written "10s" or "1m30s".
type Duration time.Duration

// Rate is a data rate in bytes per second, written "100kB/s", "2MiB" or "8Mbit/s"; 0 is written
// "unlimited".
type Rate float64

const number = `[0-9]+(?:\.[0-9]+)?`

// The patterns are part of the JSON Schemas too, so they hold nothing that ECMA 262 does not know.
const (
	percentPattern  = `^` + number + `%$`
	durationPattern = `^(?:` + number + `(?:ns|us|µs|ms|s|m|h))+$`
	ratePattern     = `^(?:(` + number + `) ?((?:k|M|G|Ki|Mi|Gi)?(?:B|bit))(?:/s)?|unlimited)$`
)

var (
	percentRE  = regexp.MustCompile(percentPattern)
	durationRE = regexp.MustCompile(durationPattern)
	rateRE     = regexp.MustCompile(ratePattern)
	bareRE     = regexp.MustCompile(`^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$`)
	rateLikeRE = regexp.MustCompile(`^` + number + ` ?([A-Za-z]+)(?:/s)?$`)
)

// Share is p as a probability, from 0 to 1.
func (p Percent) Share() float64 { return float64(p) / 100 }

// String prints p as it is written.
func (p Percent) String() string { return plain(float64(p)) + "%" }

// Pattern is the regular expression of a percentage, for schemas.
func (Percent) Pattern() string { return percentPattern }

// MarshalText writes p as [Percent.UnmarshalText] reads it.
func (p Percent) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads "10%". A bare number is an error that says how to write it.
func (p *Percent) UnmarshalText(text []byte) error {
	s := string(text)
	if len(s) <= maxText && percentRE.MatchString(s) {
		v, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
		if err != nil || v > 100 {
			return fmt.Errorf("%s is above 100%%: write 0%% to 100%%", shown(s))
		}
		*p = Percent(v)
		return nil
	}
	if v, bare := bareNumber(s); bare && v >= 0 && v <= 100 {
		if v > 0 && v < 1 {
			v *= 100
		}
		return fmt.Errorf("%s is not a percentage: write %s%%", shown(s), strconv.FormatFloat(v, 'g', 6, 64))
	}
	return fmt.Errorf("%s is not a percentage: write 0%% to 100%%, such as 10%%", shown(s))
}

// UnmarshalJSON reads a text as [Percent.UnmarshalText] does; for a number the error says how to
// write it.
func (p *Percent) UnmarshalJSON(data []byte) error { return fromJSON(data, p) }

func (p Percent) check(what string) error {
	if !(p >= 0 && p <= 100) { // NaN too
		return fmt.Errorf("%s %v: expected 0%% to 100%%", what, p)
	}
	return nil
}

// String prints d as time.Duration does.
func (d Duration) String() string { return time.Duration(d).String() }

// Pattern is the regular expression of a duration, for schemas.
func (Duration) Pattern() string { return durationPattern }

// MarshalText writes d as [Duration.UnmarshalText] reads it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads "10s", "1m30s" or "500ms".
func (d *Duration) UnmarshalText(text []byte) error {
	s := string(text)
	if len(s) <= maxText && durationRE.MatchString(s) {
		v, err := time.ParseDuration(s)
		if err != nil || v > MaxDuration {
			return fmt.Errorf("%s is too long a time: expected at most %v", shown(s), MaxDuration)
		}
		*d = Duration(v)
		return nil
	}
	if v, bare := bareNumber(s); bare && v >= 0 {
		return fmt.Errorf("%s is not a duration, its unit is missing: write %ss or %sms", shown(s), s, s)
	}
	without, minus := strings.CutPrefix(s, "-")
	if _, bare := bareNumber(without); minus && len(s) <= maxText && (bare || durationRE.MatchString(without)) {
		return fmt.Errorf("%s is negative: expected a duration from 0s", shown(s))
	}
	return fmt.Errorf("%s is not a duration: write a number and its unit, such as 10s or 500ms", shown(s))
}

// UnmarshalJSON reads a text as [Duration.UnmarshalText] does; for a number the error says how to
// write it.
func (d *Duration) UnmarshalJSON(data []byte) error { return fromJSON(data, d) }

func (d Duration) check(what string) error {
	if d < 0 || time.Duration(d) > MaxDuration {
		return fmt.Errorf("%s %v: expected 0s to %v", what, d, MaxDuration)
	}
	return nil
}

// rateUnits are bytes per second, the largest first and those of bytes, powers of ten, ahead:
// String takes the first that fits.
var rateUnits = []struct {
	name  string
	bytes float64
}{
	{"GB", 1e9},
	{"MB", 1e6},
	{"kB", 1e3},
	{"B", 1},
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"Gbit", 1e9 / 8},
	{"Mbit", 1e6 / 8},
	{"kbit", 1e3 / 8},
	{"bit", 1. / 8},
	{"Gibit", 1 << 27},
	{"Mibit", 1 << 17},
	{"Kibit", 1 << 7},
}

// unit is the unit to print r in: the largest that keeps its value to the last bit.
func (r Rate) unit() (value float64, name string) {
	for _, u := range rateUnits {
		if v := float64(r) / u.bytes; v >= 1 && v*u.bytes == float64(r) {
			return v, u.name
		}
	}
	return float64(r), "B"
}

// String prints r for people: "100 kB/s".
func (r Rate) String() string {
	if r == 0 {
		return "unlimited"
	}
	v, unit := r.unit()
	return plain(v) + " " + unit + "/s"
}

// Pattern is the regular expression of a rate, for schemas.
func (Rate) Pattern() string { return ratePattern }

// MarshalText writes r as [Rate.UnmarshalText] reads it.
func (r Rate) MarshalText() ([]byte, error) {
	return []byte(strings.ReplaceAll(r.String(), " ", "")), nil
}

// UnmarshalText reads "100kB/s", "1MB", "8Mbit/s" or "unlimited"; "/s" may be left out. Prefixes
// are k, M and G for powers of 1000, Ki, Mi and Gi for powers of 1024.
func (r *Rate) UnmarshalText(text []byte) error {
	s := string(text)
	if s == "unlimited" {
		*r = 0
		return nil
	}
	var m []string
	if len(s) <= maxText {
		m = rateRE.FindStringSubmatch(s)
	}
	if m == nil {
		return notARate(s)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	for _, u := range rateUnits {
		if u.name == m[2] {
			v *= u.bytes
		}
	}
	switch {
	case v == 0:
		return fmt.Errorf("%s lets nothing through: write unlimited for no limit, or cut the link", shown(s))
	case err != nil || v < MinRate || v > MaxRate:
		return fmt.Errorf("%s is out of range: expected %v to %v", shown(s), Rate(MinRate), Rate(MaxRate))
	}
	*r = Rate(v)
	return nil
}

// notARate says what is wrong with s.
func notARate(s string) error {
	if v, bare := bareNumber(s); bare && v >= 0 {
		return fmt.Errorf("%s is not a rate, its unit is missing: write %skB/s or %sMbit/s", shown(s), s, s)
	}
	if m := rateLikeRE.FindStringSubmatch(s); m != nil && len(s) <= maxText {
		units := make([]string, len(rateUnits))
		for i, u := range rateUnits {
			units[i] = u.name
		}
		return fmt.Errorf("rate %s: %w", shown(s), document.Unknown("unit", m[1], units))
	}
	return fmt.Errorf("%s is not a rate: write a number and its unit, such as 100kB/s or 8Mbit/s, or unlimited", shown(s))
}

// UnmarshalJSON reads a text as [Rate.UnmarshalText] does; for a number the error says how to write
// it.
func (r *Rate) UnmarshalJSON(data []byte) error { return fromJSON(data, r) }

func (r Rate) check() error {
	if r != 0 && !(r >= MinRate && r <= MaxRate) { // NaN too
		return fmt.Errorf("rate of %v bytes/s: expected 0 for no limit, or %v to %v", float64(r), Rate(MinRate),
			Rate(MaxRate))
	}
	return nil
}

// fromJSON gives u the text in data, or whatever else is there as if it were text, for u to say
// what is wrong with it.
func fromJSON(data []byte, u encoding.TextUnmarshaler) error {
	if string(data) == "null" {
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return u.UnmarshalText(data)
	}
	return u.UnmarshalText([]byte(text))
}

// bareNumber reads a number without a unit.
func bareNumber(s string) (v float64, ok bool) {
	if len(s) > maxText || !bareRE.MatchString(s) {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && !math.IsNaN(v)
}

// plain prints v with as many digits as it has, never with an exponent.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// shown bounds what an error repeats of its input.
func shown(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "..."
	}
	if _, bare := bareNumber(s); bare || percentRE.MatchString(s) || durationRE.MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}
