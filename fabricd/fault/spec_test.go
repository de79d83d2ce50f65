package fault

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/document/schematest"
)

const sec = Duration(time.Second)

// orders are specs of every kind, as Go has them, as YAML writes them and as an event tells them.
var orders = []struct {
	spec       Spec
	yaml, line string
}{
	{Spec{Do: VerbCut, A: "s0-s1"}, "{do: cut, a: s0-s1}", "cut s0-s1"},
	{
		Spec{Do: VerbCut, A: "s0", B: "s1", Direction: To, Silent: true, For: 10 * sec},
		"{do: cut, a: s0, b: s1, direction: to, silent: true, for: 10s}",
		"cut s0-s1 silently, s0 to s1, for 10s",
	},
	{
		Spec{Do: VerbCut, A: "s3:4-s7:2", Direction: From},
		"{do: cut, a: 's3:4-s7:2', direction: from}",
		"cut s3:4-s7:2, s7:2 to s3:4",
	},
	{
		Spec{Do: VerbCut, A: "a-b-c", Direction: From},
		"{do: cut, a: a-b-c, direction: from}",
		"cut a-b-c, from its second end to its first",
	},
	{Spec{Do: VerbCut, A: "s0", B: "s1", Direction: Both}, "{do: cut, a: s0, b: s1, direction: both}", "cut s0-s1"},
	{
		Spec{Do: VerbFlap, A: "s0", B: "s1", Flap: &Flap{Period: sec, Duty: new(Percent(30)), Jitter: sec / 100, Count: 5}},
		"{do: flap, a: s0, b: s1, flap: {period: 1s, duty: 30%, jitter: 10ms, count: 5}}",
		"flap s0-s1, period 1s, down 30% of it, jitter 10ms, 5 times",
	},
	{
		Spec{Do: VerbFlap, A: "s0-s1", Silent: true, Flap: &Flap{Period: sec}, For: 60 * sec},
		"{do: flap, a: s0-s1, silent: true, flap: {period: 1s}, for: 1m}",
		"flap s0-s1 silently, period 1s, down 50% of it, for 1m0s",
	},
	{
		Spec{
			Do: VerbImpair, A: "s0", B: "s1",
			Impair: &Impair{Loss: new(Percent(10)), Delay: new(5 * sec / 1000), Jitter: new(sec / 1000), Rate: new(Rate(1e5))},
		},
		"{do: impair, a: s0, b: s1, impair: {loss: 10%, delay: 5ms, jitter: 1ms, rate: 100kB/s}}",
		"impair s0-s1, loss 10%, delay 5ms ± 1ms, rate 100 kB/s",
	},
	{
		Spec{Do: VerbImpair, A: "s0-s1", Impair: &Impair{Loss: new(Percent(0)), Jitter: new(sec), Rate: new(Rate(0))}},
		"{do: impair, a: s0-s1, impair: {loss: 0%, jitter: 1s, rate: unlimited}}",
		"impair s0-s1, loss 0%, jitter 1s, rate unlimited",
	},
	{Spec{Do: VerbCrash, A: "s1.03", For: 5 * sec}, "{do: crash, a: s1.03, for: 5s}", "crash s1.03, for 5s"},
	{
		Spec{Do: VerbRestore, A: "s0", B: "s1", Direction: From},
		"{do: restore, a: s0, b: s1, direction: from}",
		"restore s0-s1, s1 to s0",
	},
	{Spec{Do: VerbRestart, A: "s1.03"}, "{do: restart, a: s1.03}", "restart s1.03"},
	{Spec{Do: VerbHeal}, "{do: heal}", "heal everything"},
}

func TestOrdersReadTheSameFromYAMLAndJSON(t *testing.T) {
	for _, o := range orders {
		_, got, err := document.Load[Spec]("f.yaml", []byte(o.yaml))
		require.NoError(t, err, o.yaml)
		assert.Equal(t, o.spec, got, o.yaml)
		assert.NoError(t, got.Validate(), o.yaml)
		assert.Equal(t, o.line, got.String())

		data, err := json.Marshal(o.spec)
		require.NoError(t, err)
		var back Spec
		require.NoError(t, json.Unmarshal(data, &back), string(data))
		assert.Equal(t, o.spec, back, string(data))
		_, got, err = document.Load[Spec]("f.json", data) // JSON is YAML as well
		require.NoError(t, err, string(data))
		assert.Equal(t, o.spec, got)
	}
}

func TestMistakesInYAMLHaveAPlaceAndTheRightWay(t *testing.T) {
	for in, want := range map[string]string{
		"do: impair\na: x\nimpair:\n  loss: 0.1": "f:4:9: 0.1 is not a percentage: write 10%",
		"do: impair\na: x\nimpair:\n  rate: 100": "f:4:9: 100 is not a rate, its unit is missing: write 100kB/s or " +
			"100Mbit/s",
		"do: cut\na: x\nfor: 10":                        "f:3:6: 10 is not a duration, its unit is missing: write 10s or 10ms",
		"do: cut\na: x\nfor: -10s":                      `f:3:6: "-10s" is negative: expected a duration from 0s`,
		"do: cut\na: x\ndirection: forth":               `f:3:12: unknown direction "forth": did you mean "both"? known: to, from, both`,
		"do: crush\na: x":                               `f:1:5: unknown fault or repair "crush": did you mean "crash"? known: cut, flap, impair, crash, restore, restart, heal`,
		"do: flap\na: x\nflap: {period: 1s, duty: [1]}": "f:3:26: found a list, expected a text",
		"do: flap\na: x\nflap: {perod: 1s}":             `f:3:8: unknown field "perod": did you mean "period"? known: count, duty, jitter, period`,
		"a: x":                                          `f:1:1: missing field "do"`,
		"do: cut\na: x\nsilent: yes please":             `f:3:9: found the text "yes please", expected true or false`,
		"do: cut\na: 1.10":                              "f:2:4: found 1.10, expected a text; put it in quotes",
		"do: flap\na: x\nflap: {period: 1s, count: 1000000000000000000000}": `f:3:27: 1000000000000000000000 is out of range, expected an integer`,
	} {
		_, _, err := document.Load[Spec]("f", []byte(in))
		assert.EqualError(t, err, want, in)
	}
}

func TestTheSchemaTakesWhatTheParserTakes(t *testing.T) {
	data, err := document.Schema(Spec{}, "fault")
	schema := schematest.Compile(t, data, err)
	valid := func(data string) error {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(data))
		require.NoError(t, err)
		return schema.Validate(v)
	}
	for _, o := range orders {
		data, err := json.Marshal(o.spec)
		require.NoError(t, err)
		assert.NoError(t, valid(string(data)))
	}
	for _, bad := range []string{
		`{"a":"x"}`, `{"do":"crush"}`, `{"do":"cut","direction":"form"}`, `{"do":"cut","for":10}`, `{"do":"cut","for":"-1s"}`,
		`{"do":"impair","impair":{"loss":0.1}}`, `{"do":"impair","impair":{"loss":"0.1"}}`,
		`{"do":"impair","impair":{"rate":"100"}}`,
		`{"do":"flap","flap":{"period":"1s","count":-1}}`, `{"do":"flap","flap":{}}`, `{"do":"cut","sielnt":true}`,
	} {
		assert.Error(t, valid(bad), bad)
	}
}

func TestContradictoryOrdersAreRefused(t *testing.T) {
	flap, impair := &Flap{Period: sec}, &Impair{Loss: new(Percent(1))}
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{}, `unknown fault or repair "": known: cut, flap, impair, crash, restore, restart, heal`},
		{Spec{Do: "snip", A: "x"}, `unknown fault or repair "snip": known: cut, flap, impair, crash, restore, restart, heal`},
		{Spec{Do: VerbCut}, "cut of nothing: name a link, by its name or its two ends"},
		{Spec{Do: VerbCrash}, "crash of nothing: name a switch"},
		{Spec{Do: VerbRestore}, "restore of nothing: name a link, by its name or its two ends, or a switch"},
		{Spec{Do: VerbCut, B: "s1"}, "cut with b s1 but without a: name both ends, or the link as a"},
		{Spec{Do: VerbCut, A: "s1", B: "s1"}, "cut of a link from s1 to itself: name its two ends"},
		{
			Spec{Do: VerbCut, A: "s1\x1b[2J"},
			`"s1\x1b[2J" is no name of a node or link: expected printable text, at most 256 bytes`,
		},
		{
			Spec{Do: VerbCut, A: "s0", B: "s1\xff"},
			`"s1\xff" is no name of a node or link: expected printable text, at most 256 bytes`,
		},
		{
			Spec{Do: VerbCut, A: strings.Repeat("s", 257)},
			`"` + strings.Repeat("s", 64) + `..." is no name of a node or link: expected printable text, at most 256 bytes`,
		},
		{Spec{Do: VerbCrash, A: "s0", B: "s1"}, "crash with two names, s0 and s1: name a switch"},
		{Spec{Do: VerbHeal, A: "s0", B: "s1"}, "heal repairs everything: to repair s0-s1 alone, restore it"},
		{
			Spec{Do: VerbCut, A: "x", Direction: "form"},
			`unknown direction "form": did you mean "from"? known: to, from, both`,
		},
		{Spec{Do: VerbCrash, A: "x", Direction: To}, "crash with direction to: only a link has directions"},
		{Spec{Do: VerbHeal, Direction: Both}, "heal with direction both: only a link has directions"},
		{
			Spec{Do: VerbCrash, A: "x", Silent: true},
			"silent crash: its neighbours lose signal when it dies; to stop them hearing of it, cut its links silently",
		},
		{Spec{Do: VerbImpair, A: "x", Silent: true, Impair: impair}, "silent impair: only cut and flap can be"},
		{Spec{Do: VerbRestore, A: "x", For: sec}, "restore for 1s: only a fault ends by itself, a repair does not"},
		{Spec{Do: VerbHeal, For: sec}, "heal for 1s: only a fault ends by itself, a repair does not"},
		{Spec{Do: VerbCut, A: "x", For: -sec}, "for -1s: expected 0s to 720h0m0s"},
		{
			Spec{Do: VerbFlap, A: "x", For: sec, Flap: &Flap{Period: sec, Count: 2}},
			"flap with both count and for: either ends it, give one",
		},
		{Spec{Do: VerbFlap, A: "x"}, "flap without a period: say how often, such as period 1s"},
		{Spec{Do: VerbFlap, A: "x", Flap: &Flap{Count: 1}}, "flap without a period: say how often, such as period 1s"},
		{Spec{Do: VerbCut, A: "x", Flap: flap}, "cut with flap parameters: only flap has them"},
		{Spec{Do: VerbCut, A: "x", Impair: impair}, "cut with impair parameters: only impair has them"},
		{Spec{Do: VerbImpair, A: "x"}, "impair without a figure: say what is to suffer, such as loss 10% or delay 5ms"},
		{
			Spec{Do: VerbImpair, A: "x", Impair: &Impair{}},
			"impair without a figure: say what is to suffer, such as loss 10% or delay 5ms",
		},
		{Spec{Do: VerbImpair, A: "x", Impair: &Impair{Loss: new(Percent(math.NaN()))}}, "loss NaN%: expected 0% to 100%"},
		{Spec{Do: VerbImpair, A: "x", Impair: &Impair{Loss: new(Percent(101))}}, "loss 101%: expected 0% to 100%"},
		{Spec{Do: VerbImpair, A: "x", Impair: &Impair{Delay: new(-sec)}}, "delay -1s: expected 0s to 720h0m0s"},
		{Spec{Do: VerbImpair, A: "x", Impair: &Impair{Jitter: new(-sec)}}, "jitter -1s: expected 0s to 720h0m0s"},
		{
			Spec{Do: VerbImpair, A: "x", Impair: &Impair{Delay: new(sec), Jitter: new(2 * sec)}},
			"jitter 2s is more than the delay of 1s: packets would arrive before they are sent",
		},
		{
			Spec{Do: VerbImpair, A: "x", Impair: &Impair{Rate: new(Rate(-1))}},
			"rate of -1 bytes/s: expected 0 for no limit, or 1 B/s to 1000000 GB/s",
		},
		{
			Spec{Do: VerbCrash, A: "x", Direction: To, Flap: flap}, // all mistakes at once
			"crash with direction to: only a link has directions\ncrash with flap parameters: only flap has them",
		},
	} {
		assert.EqualError(t, c.spec.Validate(), c.want, "%+v", c.spec)
	}
}

func TestMergeChangesWhatIsNamedAndNothingElse(t *testing.T) {
	i := Impairment{}.Merge(Impair{Loss: new(Percent(10)), Delay: new(5 * sec / 1000)})
	assert.Equal(t, Impairment{Loss: 10, Delay: 5 * time.Millisecond}, i)
	i = i.Merge(Impair{Jitter: new(sec / 1000), Rate: new(Rate(1e5))})
	assert.Equal(t, Impairment{Loss: 10, Delay: 5 * time.Millisecond, Jitter: time.Millisecond, Rate: 1e5}, i)
	assert.Equal(t, "loss 10%, delay 5ms ± 1ms, rate 100 kB/s", i.String())
	assert.NoError(t, i.Validate())
	assert.Equal(t, i, i.Merge(Impair{}))

	i = i.Merge(Impair{Delay: new(Duration(0))})
	assert.ErrorContains(t, i.Validate(), "jitter 1ms is more than the delay of 0s",
		"each change was valid, both together are not")
	i = i.Merge(Impair{Loss: new(Percent(0)), Jitter: new(Duration(0)), Rate: new(Rate(0))})
	assert.True(t, i.IsZero())
	assert.Equal(t, "nothing", i.String())
	assert.NoError(t, i.Validate())
}

func TestDirectionsSayWhichWayTheyGo(t *testing.T) {
	for d, want := range map[Direction][2]bool{
		"": {true, true}, Both: {true, true}, To: {true, false},
		From: {false, true},
	} {
		assert.Equal(t, want, [2]bool{d.AtoB(), d.BtoA()}, d)
	}
	text, err := Direction("").MarshalText()
	require.NoError(t, err)
	assert.Equal(t, "both", string(text))
}

// Any bytes give an order that can be told and judged, or an error; never a panic.
func FuzzSpec(f *testing.F) {
	for _, o := range orders {
		f.Add(o.yaml)
	}
	f.Fuzz(func(t *testing.T, in string) {
		_, s, err := document.Load[Spec]("f", []byte(in))
		if err != nil {
			return
		}
		_ = s.String()
		if s.Validate() != nil {
			return
		}
		assert.NotContains(t, s.String(), "\n")
		data, err := json.Marshal(s)
		require.NoError(t, err)
		var back Spec
		require.NoError(t, json.Unmarshal(data, &back))
		assert.Equal(t, s, back)
	})
}
