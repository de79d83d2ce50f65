package scenario

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

// verdicts judges reports and what was heard, and returns what failed.
func verdicts(t *testing.T, s Scenario, reports []fault.Report, heard silences) (failed []string) {
	t.Helper()
	g := topologytest.Parse(t, "kary-ntree:2,3")
	s.Options.Topology = g
	s.judgeReports(reports, &heard, func(name, format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		assert.True(t, strings.HasPrefix(text, name), text)
		failed = append(failed, name)
	})
	return failed
}

func both(ms float64) []fault.Detection {
	return []fault.Detection{
		{End: "s0.00", Port: 0, AfterSeconds: ms / 1000},
		{End: "s1.00", Port: 2, AfterSeconds: ms / 1000},
	}
}

func TestDetectionIsJudgedForEachSilentCutThatLastsAndIsAloneOnItsLink(t *testing.T) {
	t.Parallel()
	s := Scenario{detectedWithin: 200 * time.Millisecond}
	cut := fault.Report{Kind: "cut", Target: "s0.00-s1.00", Silent: true, At: 10}
	with := func(change func(r *fault.Report)) fault.Report { r := cut; change(&r); return r }
	for name, c := range map[string]struct {
		reports []fault.Report
		failed  []string
	}{
		"in time": {[]fault.Report{with(func(r *fault.Report) { r.Detected = both(199) })}, nil},
		"late": {
			[]fault.Report{with(func(r *fault.Report) { r.Detected = both(201) })},
			[]string{"detected_within"},
		},
		"one end": {
			[]fault.Report{with(func(r *fault.Report) { r.Detected = both(1)[:1] })},
			[]string{"detected_within"},
		},
		"one end twice": {
			[]fault.Report{with(func(r *fault.Report) { r.Detected = append(both(1)[:1], both(2)[:1]...) })},
			[]string{"detected_within"},
		},
		"nobody":      {[]fault.Report{cut}, []string{"detected_within"}},
		"short":       {[]fault.Report{with(func(r *fault.Report) { r.RestoredAt = 10.2 })}, nil},
		"long enough": {[]fault.Report{with(func(r *fault.Report) { r.RestoredAt = 10.3 })}, []string{"detected_within"}},
		"signalled":   {[]fault.Report{with(func(r *fault.Report) { r.Silent = false })}, nil},
		"a flap":      {[]fault.Report{with(func(r *fault.Report) { r.Kind = "flap" })}, nil},
		"its switch is dead": {[]fault.Report{
			{Kind: "crash", Target: "s1.00", At: 9}, cut,
		}, nil},
		"its switch died long ago": {[]fault.Report{
			{Kind: "crash", Target: "s1.00", At: 2, RestoredAt: 3}, cut,
		}, []string{"detected_within"}},
		"another switch is dead": {[]fault.Report{
			{Kind: "crash", Target: "s1.01", At: 9}, cut,
		}, []string{"detected_within"}},
	} {
		assert.Equal(t, c.failed, verdicts(t, s, c.reports, silences{}), name)
	}
}

func TestASilenceWithoutAFaultIsAFalseDetection(t *testing.T) {
	t.Parallel()
	s := Scenario{Expect: format.Expect{NoFalseDetection: true}}
	heard := func(at float64) silences {
		return silences{list: []fabric.Event{{At: at, Link: "s0.00-s1.00", Node: "s0.00"}}}
	}
	of := func(target string) []fault.Report {
		return []fault.Report{{Kind: "impair", Target: target, At: 10, RestoredAt: 12}}
	}
	for name, c := range map[string]struct {
		reports []fault.Report
		at      float64
		failed  []string
	}{
		"no fault":          {nil, 11, []string{"no_false_detection"}},
		"its own":           {of("s0.00-s1.00"), 11, nil},
		"of its switch":     {of("s1.00"), 11, nil},
		"of another link":   {of("s0.01-s1.01"), 11, []string{"no_false_detection"}},
		"before":            {of("s0.00-s1.00"), 9.9, []string{"no_false_detection"}},
		"just after":        {of("s0.00-s1.00"), 12.5, nil},
		"long after":        {of("s0.00-s1.00"), 13.5, []string{"no_false_detection"}},
		"of another switch": {of("s1.01"), 11, []string{"no_false_detection"}},
	} {
		assert.Equal(t, c.failed, verdicts(t, s, c.reports, heard(c.at)), name)
	}
	assert.Empty(t, verdicts(t, Scenario{}, nil, heard(11)), "nobody asked")
	assert.Equal(t, []string{"no_false_detection"}, verdicts(t, s, nil, silences{missed: 3}))
}

func TestSilencesAreHeardOnceAndGapsAreCounted(t *testing.T) {
	t.Parallel()
	hub := fabric.NewHub()
	var s silences
	hub.Publish(0, fabric.Event{Kind: fabric.EventLinkDown, Detail: "silence"})
	hub.Publish(0, fabric.Event{Kind: fabric.EventLinkDown, Detail: "signal"})
	hub.Publish(0, fabric.Event{Kind: fabric.EventLinkUp})
	s.hear(hub)
	s.hear(hub)
	assert.Len(t, s.list, 1)
	for range 5000 {
		hub.Publish(0, fabric.Event{Kind: fabric.EventLinkDown, Detail: "silence"})
	}
	s.hear(hub)
	assert.EqualValues(t, 5000, uint64(len(s.list))-1+s.missed)
	assert.Positive(t, s.missed)
}

func TestADegradationIsMadeGoodInTimeOrFails(t *testing.T) {
	t.Parallel()
	s := Scenario{madeGoodWithin: time.Second}
	for name, c := range map[string]struct {
		dip    fault.Degradation
		failed []string
	}{
		"none":    {fault.Degradation{Baseline: 5}, nil},
		"in time": {fault.Degradation{Found: true, MadeGoodAfter: new(0.999)}, nil},
		"late":    {fault.Degradation{Found: true, MadeGoodAfter: new(1.001)}, []string{"made_good_within"}},
		"not yet": {fault.Degradation{Found: true}, []string{"made_good_within"}},
	} {
		assert.Equal(t, c.failed, verdicts(t, s, []fault.Report{{Kind: "cut", Degradation: c.dip}}, silences{}), name)
	}
}

func TestAProgramThatWasNotStartedIsNamed(t *testing.T) {
	t.Parallel()
	p := &programs{all: []Program{{Name: "ping", NIC: "n1", Output: "pong"}}, list: make([]*started, 1)}
	var said []string
	p.judge(func(name, format string, args ...any) { said = append(said, name+": "+fmt.Sprintf(format, args...)) })
	assert.Equal(t, []string{"programs: program ping on n1 was not started"}, said)
}
