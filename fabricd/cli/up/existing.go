package up

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/placement"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
)

// What fabricd up makes of a fabric of its name that is there already.

// agentNames reads --agents; none is all.
func agentNames(list string) (names []string, err error) {
	if list == "all" {
		return nil, nil
	}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if err := bus.ValidateAgent(name); err != nil {
			return nil, fmt.Errorf("--agents %q: expected all, or names as h1,h2: %w", list, err)
		}
		names = append(names, name)
	}
	return names, nil
}

// agrees refuses at once what would be refused when this process begins to lead, and says what of
// its flags is not heeded.
func (c *clusterUp) agrees(ctx context.Context) error {
	want, there, err := c.store.Desired(ctx)
	if err != nil || !there {
		return err
	}
	s, err := c.fits(want)
	if err != nil {
		return err
	}
	if other := c.otherwise(s); len(other) > 0 {
		fmt.Fprintf(c.stderr, "fabricd: fabric %s is there already, with %s: these flags do not change it; end it with fabricd down to begin it anew\n",
			c.fabric, strings.Join(other, " "))
	}
	return nil
}

// fits checks that this process could lead a fabric that is written down, and reads its settings.
func (c *clusterUp) fits(want cluster.Desired) (s settings.Settings, err error) {
	if err := command.ThisVersion().Fits("fabric "+c.fabric, want.Version); err != nil {
		return s, err
	}
	if c.topologyGiven && c.settings.Topology != want.Spec {
		return s, fmt.Errorf("fabric %s runs on agents already, and is %s: leave --topology away to lead it, end it with fabricd down, or choose another --fabric",
			c.fabric, want.Spec)
	}
	if err := json.Unmarshal(want.Settings, &s); err != nil {
		return s, fmt.Errorf("read the settings of fabric %s: %w: did another version of fabricd write them?", c.fabric,
			err)
	}
	return s, nil
}

// otherwise lists settings, as flags, that are other than what was given.
func (c *clusterUp) otherwise(s settings.Settings) (list []string) {
	is, want := s.Filled(), c.settings.Filled()
	for _, x := range settings.All() {
		if c.doc == nil && !slices.Contains(c.given, x.Flag) || x.Path == "topology" || is.Text(x.Path) == want.Text(x.Path) ||
			x.Path == "manager.method" && want.Manager.Method == manage.Auto {
			continue
		}
		name := x.Path
		if x.Flag != "" {
			name = "--" + x.Flag
		}
		list = append(list, name+" "+command.SettingText(x, is))
	}
	return list
}

// changed are the flags that were given, by their present names.
func changed(f *pflag.FlagSet) (names []string) {
	f.Visit(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}

// ended reports whether a fabric that is not written down was there when this process began to wait
// for its turn.
func (c *clusterUp) ended(ctx context.Context) (bool, error) {
	ended := c.agents == "" // it was there, or this process would have run it alone
	if c.since > 0 && !ended {
		var err error
		if ended, err = c.store.EndedSince(ctx, c.since); err != nil {
			return false, err
		}
	}
	if ended {
		fmt.Fprintf(c.stderr, "fabricd: fabric %s was ended\n", c.fabric)
	}
	return ended, nil
}

// clear ends what agents run of a fabric.
func (c *clusterUp) clear(ctx context.Context, hosts cluster.Hosts, where *placement.Placement) error {
	var names []string
	for _, p := range where.Hosts {
		names = append(names, p.Agent)
	}
	dropped, err := hosts.Drop(ctx, names, "it was made for a leader that has ended since")
	if errors.Is(err, reply.ErrNobody) {
		err = nil // that there is an agent less is found out when hosts are made
	}
	if err != nil {
		return fmt.Errorf("hosts of fabric %s that nobody knows: %w", c.fabric, err)
	}
	if len(dropped) > 0 {
		slices.Sort(dropped)
		fmt.Fprintf(c.stderr, "fabricd: who began fabric %s was ended before it was up: made anew on %s\n", c.fabric, strings.Join(dropped, ", "))
	}
	return nil
}
