package fault

import (
	"encoding"
	"encoding/json"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPercentIsReadAndWritten(t *testing.T) {
	for in, want := range map[string]Percent{
		"10%": 10, "0.5%": 0.5, "100%": 100, "0%": 0, "33.25%": 33.25,
		"0.0000001%": 1e-7,
	} {
		var p Percent
		require.NoError(t, p.UnmarshalText([]byte(in)), in)
		assert.Equal(t, want, p)
		assert.Equal(t, in, p.String())
	}
	assert.InDelta(t, 0.1, Percent(10).Share(), 1e-15)
}

func TestWhatIsNoPercentageIsRefusedWithTheRightWay(t *testing.T) {
	for in, want := range map[string]string{
		"0.1":   "0.1 is not a percentage: write 10%",
		"0.07":  "0.07 is not a percentage: write 7%",
		".5":    ".5 is not a percentage: write 50%",
		"10":    "10 is not a percentage: write 10%",
		"1":     "1 is not a percentage: write 1%",
		"0":     "0 is not a percentage: write 0%",
		"250":   "250 is not a percentage: write 0% to 100%, such as 10%",
		"-10%":  `"-10%" is not a percentage: write 0% to 100%, such as 10%`,
		"-0.1":  "-0.1 is not a percentage: write 0% to 100%, such as 10%",
		"101%":  "101% is above 100%: write 0% to 100%",
		"NaN":   `"NaN" is not a percentage: write 0% to 100%, such as 10%`,
		"NaN%":  `"NaN%" is not a percentage: write 0% to 100%, such as 10%`,
		"1e1%":  `"1e1%" is not a percentage: write 0% to 100%, such as 10%`,
		"ten":   `"ten" is not a percentage: write 0% to 100%, such as 10%`,
		"10 %":  `"10 %" is not a percentage: write 0% to 100%, such as 10%`,
		"":      `"" is not a percentage: write 0% to 100%, such as 10%`,
		"1e400": `"1e400" is not a percentage: write 0% to 100%, such as 10%`,
	} {
		p := Percent(7)
		assert.EqualError(t, p.UnmarshalText([]byte(in)), want, in)
		assert.Equal(t, Percent(7), p, "left as it was")
	}
}

func TestDurationIsReadAndWritten(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"10s": 10 * time.Second, "1m30s": 90 * time.Second, "500ms": 500 * time.Millisecond, "1.5h": 90 * time.Minute,
		"0s": 0, "3µs": 3 * time.Microsecond, "3us": 3 * time.Microsecond, "720h": MaxDuration,
	} {
		var d Duration
		require.NoError(t, d.UnmarshalText([]byte(in)), in)
		assert.Equal(t, Duration(want), d)
		assert.Equal(t, want.String(), d.String())
	}
}

func TestWhatIsNoDurationIsRefusedWithTheRightWay(t *testing.T) {
	for in, want := range map[string]string{
		"5":         "5 is not a duration, its unit is missing: write 5s or 5ms",
		"0":         "0 is not a duration, its unit is missing: write 0s or 0ms",
		"-5s":       `"-5s" is negative: expected a duration from 0s`,
		"-5":        "-5 is negative: expected a duration from 0s",
		"721h":      "721h is too long a time: expected at most 720h0m0s",
		"99999999h": "99999999h is too long a time: expected at most 720h0m0s",
		"soon":      `"soon" is not a duration: write a number and its unit, such as 10s or 500ms`,
		"1d":        `"1d" is not a duration: write a number and its unit, such as 10s or 500ms`,
		"10 s":      `"10 s" is not a duration: write a number and its unit, such as 10s or 500ms`,
		"":          `"" is not a duration: write a number and its unit, such as 10s or 500ms`,
	} {
		assert.EqualError(t, new(Duration).UnmarshalText([]byte(in)), want, in)
	}
}

func TestRateIsReadAndWritten(t *testing.T) {
	for in, c := range map[string]struct {
		want Rate
		text string
	}{
		"100kB":     {1e5, "100 kB/s"},
		"100kB/s":   {1e5, "100 kB/s"},
		"100 kB/s":  {1e5, "100 kB/s"},
		"1MB/s":     {1e6, "1 MB/s"},
		"1.5GB":     {1.5e9, "1.5 GB/s"},
		"8Mbit":     {1e6, "1 MB/s"},
		"8Mbit/s":   {1e6, "1 MB/s"},
		"64kbit/s":  {8e3, "8 kB/s"},
		"64KiB":     {65536, "65.536 kB/s"},
		"1Kibit":    {128, "128 B/s"},
		"8bit":      {1, "1 B/s"},
		"12.5B/s":   {12.5, "12.5 B/s"},
		"unlimited": {0, "unlimited"},
	} {
		var r Rate
		require.NoError(t, r.UnmarshalText([]byte(in)), in)
		assert.Equal(t, c.want, r, in)
		assert.Equal(t, c.text, r.String(), in)
	}
}

func TestWhatIsNoRateIsRefusedWithTheRightWay(t *testing.T) {
	for in, want := range map[string]string{
		"100":       "100 is not a rate, its unit is missing: write 100kB/s or 100Mbit/s",
		"0":         "0 is not a rate, its unit is missing: write 0kB/s or 0Mbit/s",
		"0B":        `"0B" lets nothing through: write unlimited for no limit, or cut the link`,
		"4bit":      `"4bit" is out of range: expected 1 B/s to 1000000 GB/s`,
		"9999999GB": `"9999999GB" is out of range: expected 1 B/s to 1000000 GB/s`,
		"-1MB":      `"-1MB" is not a rate: write a number and its unit, such as 100kB/s or 8Mbit/s, or unlimited`,
		"100KB":     `rate "100KB": unknown unit "KB": did you mean "kB"? known: GB, MB, kB, B, GiB, MiB, KiB, Gbit, ...`,
		"8Mbits/s":  `rate "8Mbits/s": unknown unit "Mbits": did you mean "Mbit"? known: GB, MB, kB, B, GiB, MiB, KiB, Gbit, ...`,
		"fast":      `"fast" is not a rate: write a number and its unit, such as 100kB/s or 8Mbit/s, or unlimited`,
		"":          `"" is not a rate: write a number and its unit, such as 100kB/s or 8Mbit/s, or unlimited`,
	} {
		assert.EqualError(t, new(Rate).UnmarshalText([]byte(in)), want, in)
	}
}

func TestAnyRateIsReadAsItWasWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		want, got := Rate(math.Exp(r.Float64()*math.Log(MaxRate))), Rate(0)
		text, err := want.MarshalText()
		require.NoError(t, err)
		require.NoError(t, got.UnmarshalText(text))
		require.Equal(t, want, got, string(text))
	}
}

func TestAnErrorRepeatsNoMoreThanOneCanRead(t *testing.T) {
	zeros := strings.Repeat("0", 1000)
	for _, u := range []encoding.TextUnmarshaler{new(Percent), new(Duration), new(Rate), new(Direction), new(Verb)} {
		for _, unit := range []string{"", "%", "s", "kB", "KB", "?"} {
			err := u.UnmarshalText([]byte(zeros + "1" + unit))
			require.Error(t, err)
			assert.Less(t, len(err.Error()), 250)
		}
	}
}

// A number in JSON is the same mistake as one in text, and must not end in a message about Go
// types.
func TestANumberInJSONIsRefusedWithTheRightWay(t *testing.T) {
	for in, want := range map[string]string{
		`{"do":"impair","a":"x","impair":{"loss":0.1}}`: "0.1 is not a percentage: write 10%",
		`{"do":"impair","a":"x","impair":{"rate":100}}`: "100 is not a rate, its unit is missing: write 100kB/s " +
			"or 100Mbit/s",
		`{"do":"cut","a":"x","for":10}`: "10 is not a duration, its unit is missing: write 10s " +
			"or 10ms",
		`{"do":"cut","a":"x","for":{"seconds":10}}`:                `"{\"seconds\":10}" is not a duration: write a number and its unit, such as 10s or 500ms`,
		`{"do":"cut","a":"x","direction":"form"}`:                  `unknown direction "form": did you mean "from"? known: to, from, both`,
		`{"do":"crush","a":"x"}`:                                   `unknown fault or repair "crush": did you mean "crash"? known: cut, flap, impair, crash, restore, restart, heal`,
		`{"do":"flap","a":"x","flap":{"period":"1s","duty":true}}`: `"true" is not a percentage: write 0% to 100%, such as 10%`,
	} {
		assert.ErrorContains(t, json.Unmarshal([]byte(in), new(Spec)), want, in)
	}
	var s Spec
	require.NoError(t, json.Unmarshal([]byte(`{"do":"cut","for":null,"impair":{"loss":null}}`), &s))
	assert.Equal(t, Spec{Do: VerbCut, Impair: &Impair{}}, s)
}

// text is a value with a text of its own form.
type text[T any] interface {
	*T
	encoding.TextMarshaler
	encoding.TextUnmarshaler
	Pattern() string
}

// roundTrip checks that what is read from s, if anything, matches the pattern and is read again
// from what it writes.
func roundTrip[T comparable, P text[T]](t *testing.T, s string) {
	v := P(new(T))
	if err := v.UnmarshalText([]byte(s)); err != nil {
		assert.Less(t, len(err.Error()), 1000, "an error repeats no more of its input than one can read")
		return
	}
	pattern := regexp.MustCompile(v.Pattern())
	assert.Regexp(t, pattern, s)
	out, err := v.MarshalText()
	require.NoError(t, err)
	assert.Regexp(t, pattern, string(out))
	again := P(new(T))
	require.NoError(t, again.UnmarshalText(out), "%s from %q", out, s)
	assert.Equal(t, *v, *again, "%s from %q", out, s)

	data, err := json.Marshal(v)
	require.NoError(t, err)
	again = P(new(T))
	require.NoError(t, json.Unmarshal(data, again))
	assert.Equal(t, *v, *again)
}

// Whatever is read is in range and is written so that the same is read again.
func FuzzUnits(f *testing.F) {
	for _, s := range []string{
		"10%", "0.1", "100.0%", "1m30s", "-5s", "0.3ns", "100kB/s", "8Mbit", "0.1GiB", "3.7Kibit", "unlimited", "to", "both",
		"impair", "NaN%", "1e3B",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		roundTrip[Percent](t, s)
		roundTrip[Duration](t, s)
		roundTrip[Rate](t, s)
		roundTrip[Direction](t, s)
		roundTrip[verbText](t, s)
		var p Percent
		if p.UnmarshalText([]byte(s)) == nil {
			assert.NoError(t, p.check("loss"))
		}
		var d Duration
		if d.UnmarshalText([]byte(s)) == nil {
			assert.NoError(t, d.check("for"))
		}
		var r Rate
		if r.UnmarshalText([]byte(s)) == nil {
			assert.NoError(t, r.check())
		}
	})
}

// verbText is a Verb that can write itself, for roundTrip alone.
type verbText struct{ Verb }

func (v verbText) MarshalText() ([]byte, error) { return []byte(v.Verb), nil }
