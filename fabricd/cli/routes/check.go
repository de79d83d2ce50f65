package routes

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet/survey"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Verdict is what fabricd routes check --json prints.
type Verdict struct {
	Pass       bool              `json:"pass"`
	Engine     string            `json:"engine"`
	Topology   string            `json:"topology"`
	Acyclic    bool              `json:"cdg_acyclic"`
	Cycle      []routeDependency `json:"cycle,omitempty"`
	Pairs      int               `json:"pairs"`
	Unroutable int               `json:"unroutable_pairs"`
}

// routeDependency is a channel of a cycle, and why packets in it wait for the next.
type routeDependency struct {
	survey.Channel
	Example string `json:"example"` // a source switch and a destination
	Users   int    `json:"pairs"`   // such source/address pairs
}

func routesCheck(u *routesFlags) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check that routes are free from deadlock and reach everything",
		Long: `Follows every path and looks for a cycle in the channel dependency graph, and for pairs that cannot be routed. A shortest cycle is printed,
with a pair for each dependency of it. Of escape routing the escape layer must have none.

With --scenario the traffic of those pairs is written as a scenario, which fabricd run --virtual drives into the deadlock.

Exit codes: 0 no cycle and all pairs routed, 1 a cycle or pairs without a route, 2 wrong input, or interrupted.`,
		Example: "  fabricd routes check --topology irregular:64,128,1 --routing minimal-hop --scenario deadlock.yaml; fabricd run --virtual deadlock.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := command.CanWrite("--scenario", file); err != nil {
				return err
			}
			v, made, err := u.check(cmd)
			if err != nil {
				return err
			}
			if file != "" {
				if err := writeDeadlock(file, v, made); err != nil {
					return err
				}
			}
			if u.json {
				err = command.JSON(cmd.OutOrStdout(), v)
			} else {
				err = v.print(cmd.OutOrStdout(), made.Survey)
			}
			if err == nil && !v.Pass {
				err = command.ErrFailed
			}
			return err
		},
	}
	cmd.Flags().StringVar(&file, "scenario", "", "write the traffic of the cycle to this file, as a scenario")
	_ = cmd.MarkFlagFilename("scenario", "yaml", "yml") // there is such a flag
	return cmd
}

// checkedRoutes is a survey with the pairs that make its cycle.
type checkedRoutes struct {
	*survey.Survey
	name  string // of the routing, in scenarios
	users [][]survey.User
}

func (u *routesFlags) check(cmd *cobra.Command) (v Verdict, made checkedRoutes, err error) {
	list, err := u.compute(cmd, u.routing)
	if err != nil {
		return v, made, err
	}
	s := list[0].Survey
	made = checkedRoutes{s, u.routing, survey.Users(s.Routing, s.Cycle)}
	g := s.Routing.Graph
	v = Verdict{
		Pass: s.Cycle == nil && s.Unroutable == 0, Engine: s.Routing.Engine, Topology: g.Spec, Acyclic: s.Cycle == nil, Pairs: s.Pairs, Unroutable: s.Unroutable,
	}
	for i, c := range survey.NamesOf(g, s.Cycle) {
		d := routeDependency{Channel: c, Users: len(made.users[i])}
		if d.Users > 0 {
			first := made.users[i][0]
			d.Example = g.Switches[first.Src].Name + " to " + g.NICs[first.Dst].Name
		}
		v.Cycle = append(v.Cycle, d)
	}
	return v, made, nil
}

func (v Verdict) print(w io.Writer, s *survey.Survey) error {
	sum := summaryOf(computed{Survey: s})
	fmt.Fprintf(w, "%s by %s\n", v.Topology, v.Engine)
	if !v.Acyclic {
		fmt.Fprintf(w, "channel dependencies: a cycle of %d, in which packets can wait for one another for ever\n", len(v.Cycle))
		err := command.Tabbed(w, func(tab func(...any)) {
			for i, d := range v.Cycle {
				next := v.Cycle[(i+1)%len(v.Cycle)]
				more := ""
				if d.Users > 1 {
					more = fmt.Sprintf(", and %s more", number(d.Users-1))
				}
				tab("  "+d.Name, "then "+next.Name, "by packets from "+d.Example+more)
			}
		})
		if err != nil {
			return err
		}
	} else {
		fmt.Fprintf(w, "channel dependencies: %s\n", dependencyWords(sum))
	}
	_, err := fmt.Fprintf(w, "unroutable pairs: %s of %s\n", number(v.Unroutable), number(v.Pairs))
	return err
}

// Chosen by us: how many pairs send for each dependency of the cycle, and how many packets each.
// Together they fill the buffers of any cycle many times over.
const (
	deadlockPairs   = 4
	deadlockPackets = 1000
)

// writeDeadlock writes a scenario in which the pairs of the cycle send as fast as they can.
func writeDeadlock(file string, v Verdict, made checkedRoutes) error {
	if v.Acyclic {
		return fmt.Errorf("--scenario %s: %s has no cycle of channel dependencies in %s, so there is no deadlock to run into", file, v.Engine, v.Topology)
	}
	g := made.Routing.Graph
	var names []string
	for _, d := range v.Cycle {
		names = append(names, d.Name)
	}
	f := format.File{
		Name: strings.NewReplacer(":", "-", ",", "-", "=", "-", "/", "-", ".", "-").Replace(made.name) + "-deadlock",
		About: fmt.Sprintf("The channel dependencies of %s have a cycle: %s.\nFor each of them pairs send whose packets hold one channel and wait for the next, all at once. When the cycle is full they wait for ever, and not all arrive.\n",
			v.Engine, strings.Join(names, ", ")),
		Settings: settings.Settings{
			Topology: g.Spec, Firmware: made.name, Traffic: "none",
			Liveness: settings.Liveness{Interval: "off"}, // a busy machine takes no neighbour for dead
			Link:     settings.Link{Rate: 2_560_000, Paced: true},
		},
		Duration: "5s",
	}
	sent := map[[2]string]bool{}
	expected := 0
	for _, users := range made.users {
		for i, left := 0, deadlockPairs; i < len(users) && left > 0; i++ {
			src, ok := firstNIC(g, users[i].Src)
			pair := [2]string{src, g.NICs[users[i].Dst].Name}
			if !ok || sent[pair] {
				continue
			}
			sent[pair] = true
			left--
			expected += deadlockPackets
			f.Timeline = append(f.Timeline, format.Step{At: "100ms", Send: &format.Send{From: pair[0], To: pair[1], Count: deadlockPackets}})
		}
	}
	f.Expect.DeliveredAtLeast = uint64(expected)
	data, err := format.Write(f)
	if err != nil {
		return err
	}
	return safefile.Write(file, data)
}

func firstNIC(g *topology.Graph, s weft.SwitchID) (string, bool) {
	for p, role := range g.Place(s).Roles {
		if role == weft.RoleNIC {
			e, _, ok := g.Peer(weft.End{Node: s.Node(), Port: weft.PortID(p)})
			return g.Name(e.Node), ok
		}
	}
	return "", false
}
