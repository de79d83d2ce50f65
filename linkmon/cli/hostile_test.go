package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/linkmon/screen"
)

// poison is what a terminal would obey: a title, colours, a cleared screen in one and in two bytes,
// a line that goes back, and one that turns round.
const poison = "\x1b]0;owned\a\x1b[31m\x1b[2J\u009b2J\r\x7f\u202e"

// poisoned appends it to every text in v, and counts them.
func poisoned(v any, n *int) any {
	switch v := v.(type) {
	case string:
		*n++
		return v + poison
	case []any:
		for i := range v {
			v[i] = poisoned(v[i], n)
		}
	case map[string]any:
		for k := range v {
			if !slices.Contains([]string{"kind", "started", "verb", "do", "run"}, k) { // without those nothing would be shown
				v[k] = poisoned(v[k], n)
			}
		}
	}
	return v
}

// A fabric that lies about every name it has makes no terminal do anything.
func TestNothingThatAFabricSaysOfItselfIsObeyed(t *testing.T) {
	testenv.Long(t)
	testenv.Raced(t)
	ownRegistry(t)
	start(t, "real")
	real, err := registry.Find("real")
	require.NoError(t, err)
	from := bustest.Client(t, bus.ClientConfig{
		Fabric: "real", URL: real.URL, Program: "test",
		Credentials: real.Operator,
	})

	b := bustest.Broker(t, bus.BrokerConfig{Fabric: "hostile"})
	control := bustest.Server(t, bus.ServerConfig{Fabric: "hostile", Broker: b})
	texts := 0
	answers := make(chan int, 1000)
	for _, verb := range []string{
		api.VerbStatus, api.VerbTopology, api.VerbLinks, api.VerbSwitch, api.VerbFaults, api.VerbLedger, api.VerbEvents,
		api.VerbWatch, api.VerbSnapshot, api.VerbApply,
	} {
		require.NoError(t, bus.Handle(control, bus.Subject{Kind: bus.SubjectControl, Verb: verb},
			func(ctx context.Context, req json.RawMessage) (any, error) {
				var in any
				if len(req) > 0 {
					in = json.RawMessage(strings.ReplaceAll(string(req), strings.Trim(string(must(json.Marshal(poison))), `"`), ""))
				}
				answer, err := bus.Call[any](ctx, from, bus.Subject{Kind: bus.SubjectControl, Verb: verb}, in)
				if err != nil {
					return nil, &spiteful{err}
				}
				n := 0
				answer = poisoned(answer, &n)
				answers <- n
				return answer, nil
			}))
	}
	live, err := from.Subscribe(api.StreamFrame, 64)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var relaying sync.WaitGroup
	relaying.Go(func() {
		for {
			n, err := live.Next(ctx)
			if err != nil {
				return
			}
			var frame any
			unused := 0
			if json.Unmarshal(n.Data, &frame) == nil {
				_ = control.Publish(api.StreamFrame, poisoned(frame, &unused)) // after the end of the test nobody hears it
			}
		}
	})
	t.Cleanup(func() { cancel(); relaying.Wait() })
	claim, err := registry.Take("hostile")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, claim.Release()) })
	require.NoError(t, claim.Publish(registry.Entry{
		Listed: registry.Listed{
			PID: 7, Started: time.Now(), URL: b.ClientURL(), Topology: "kary-ntree:2,2" + poison,
			Routing: "adaptive-link" + poison, Page: "http://127.0.0.1:1/" + poison,
		},
		Operator: b.Credentials(bus.RoleOperator), Viewer: b.Credentials(bus.RoleViewer), Token: "secret" + poison,
	}))

	commands := [][]string{
		{"ls"},
		{"status"},
		{"links"},
		{"cut", "s0.0", "s1.0"},
		{"faults"},
		{"events"},
		{"switch", "s0.0"},
		{"link", "s0.0", "s1.0"},
		{"heal", "--all"},
		{"status", "--json"},
		{"links", "--json"},
		{"faults", "--json"},
		{"events", "--json"},
		{"ls", "--json"},
		{"cut", "no\x1b[2J", "s1.0"},
		{"x\x1b]0;owned\a"},
		{"switch", strings.Repeat("\x1b", 1000)},
		{"apply", "/no/\x1b[2J"},
		{"--fabric", "\u009b2J", "status"},
		{"--no\x1b[2J"},
		{"status", "\x1b[2J"},
	}
	for _, page := range screen.Pages() {
		commands = append(commands, []string{"screen", "--once", "--page", page})
	}
	for _, args := range commands {
		if args[0] != "--fabric" {
			args = append([]string{"--fabric", "hostile"}, args...)
		}
		out, errs, code := linkmon(t, args...)
		if slices.Contains(args, "screen") {
			require.Zero(t, code, errs)
		}
		for _, said := range []string{out, errs} {
			for _, bad := range []string{"\x1b", "\a", "\u009b", "\r", "\x7f", "\u202e"} {
				require.NotContains(t, said, bad, "%q", args)
			}
			for line := range strings.Lines(errs) {
				require.Less(t, len(line), 2500)
			}
		}
	}
	for len(answers) > 0 {
		texts += <-answers
	}
	require.Greater(t, texts, 500)
	attack.Count(t, "commands to a fabric that puts escapes into every text", len(commands))
}

// spiteful is an error of a fabric that does not mean well.
type spiteful struct{ error }

func (s *spiteful) Error() string { return s.error.Error() + poison + strings.Repeat("x", 10_000) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
