package command

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weft-fabric/weft/harness/rig"
)

func TestDurationsAreRoundedToWhatPeopleRead(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		1234567 * time.Nanosecond: "0s", 123 * time.Millisecond: "120ms", 1234 * time.Millisecond: "1.2s",
		83456 * time.Millisecond:   "1m23s",
		1234567 * time.Millisecond: "21m0s", 12345678 * time.Millisecond: "3h30m0s",
	} {
		assert.Equal(t, want, Roundly(d).String())
	}
}

func TestProgressIsALineNowAndThenWithoutATerminal(t *testing.T) {
	t.Parallel()
	var out rig.Output
	p := NewProgress(&out, false, "fault sets", time.Hour)
	p.Told(32, 1000) // by an earlier run, in no time of ours
	assert.Empty(t, out.String())
	p.began, p.spoke = p.began.Add(-time.Hour), p.spoke.Add(-time.Hour)
	p.Told(32, 1000)
	assert.Equal(t, "32 of 1,000 fault sets, 3.20%\n", out.String(), "there is no rate yet")
	p.spoke = p.spoke.Add(-time.Hour)
	p.Told(64, 1000)
	assert.Equal(t, "64 of 1,000 fault sets, 6.40%, about 29h20m0s left", strings.Split(out.String(), "\n")[1])
	p.Told(96, 1000)
	p.spoke = p.spoke.Add(-time.Hour)
	p.Told(1000, 1000)
	assert.Equal(t, 2, strings.Count(out.String(), "\n"), "neither before its time nor at the end")
	p.Begin("pairs")
	p.spoke = p.spoke.Add(-time.Hour)
	p.Told(1, 50)
	assert.Equal(t, "1 of 50 pairs, 2.00%", strings.Split(out.String(), "\n")[2],
		"what follows has pieces and a rate of its own")
	p.End()
}

func TestProgressIsABarOnATerminal(t *testing.T) {
	t.Parallel()
	var out rig.Output
	p := NewProgress(&out, true, "fault sets", time.Hour)
	p.Told(32, 100)
	p.End()
	assert.Empty(t, out.String(), "what takes a moment shows nothing")
	p.began = p.began.Add(-time.Second)
	p.Told(64, 100)
	assert.Regexp(t, `fault sets, about 1\.\ds left  █{19}░{11}  64%  \(64/100\)$`, out.String())
	p.Begin("pairs")
	p.began = p.began.Add(-time.Second)
	p.Told(8, 10)
	assert.Regexp(t, `pairs  █{24}░{6}  80%  \(8/10\)$`, out.String())
	p.End()
	assert.True(t, strings.HasSuffix(out.String(), "\r\x1b[K"), "the line is empty again")
}

func TestSharesAreAllOrNoneOnlyWhenTheyAre(t *testing.T) {
	t.Parallel()
	for want, of := range map[string][2]uint64{
		"100%": {3, 3}, "0%": {0, 3}, "99.99%": {999_999_999, 1_000_000_000}, "0.01%": {1, 1_000_000_000}, "33.33%": {1, 3},
	} {
		assert.Equal(t, want, Share(of[0], of[1]))
	}
	assert.Equal(t, "0", Grouped(0))
	assert.Equal(t, "1,000,000", Grouped(1_000_000))
	assert.Equal(t, "18,446,744,073,709,551,615", Grouped(1<<64-1))
	assert.Equal(t, "999", Grouped(999))
}
