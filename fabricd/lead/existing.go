package lead

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/placement"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/settings"
)

// What becomes of a fabric of the name that is there already.

// agrees refuses at once what would be refused when this process begins to lead, and tells the
// settings that count.
func (c *onAgents) agrees(ctx context.Context) error {
	want, there, err := c.store.Desired(ctx)
	if err != nil || !there {
		return err
	}
	s, err := c.fits(want)
	if err == nil {
		c.Existing(s)
	}
	return err
}

// fits checks that this process could lead a fabric that is written down, and reads its settings.
func (c *onAgents) fits(want cluster.Desired) (s settings.Settings, err error) {
	if err := c.Build.Fits("fabric "+c.Name, want.Version); err != nil {
		return s, err
	}
	if c.named != "" && c.named != want.Spec {
		return s, fmt.Errorf("fabric %s runs on agents already, and is %s: leave --topology away to lead it, end it with "+
			"fabricd down, or choose another --fabric",
			c.Name, want.Spec)
	}
	if err := json.Unmarshal(want.Settings, &s); err != nil {
		return s, fmt.Errorf("read the settings of fabric %s: %w: did another version of fabricd write them?", c.Name,
			err)
	}
	return s, nil
}

// ended reports whether a fabric that is not written down was there when this process began to wait
// for its turn.
func (c *onAgents) ended(ctx context.Context) (bool, error) {
	ended := !c.OnAgents // it was there, or this process would have run it alone
	if c.since > 0 && !ended {
		var err error
		if ended, err = c.store.EndedSince(ctx, c.since); err != nil {
			return false, err
		}
	}
	if ended {
		c.notef("fabric %s was ended", c.Name)
	}
	return ended, nil
}

// clear ends what agents run of a fabric.
func (c *onAgents) clear(ctx context.Context, hosts cluster.Hosts, where *placement.Placement) error {
	var names []string
	for _, p := range where.Hosts {
		names = append(names, p.Agent)
	}
	dropped, err := hosts.Drop(ctx, names, "it was made for a leader that has ended since")
	if errors.Is(err, reply.ErrNobody) {
		err = nil // that there is an agent less is found out when hosts are made
	}
	if err != nil {
		return fmt.Errorf("hosts of fabric %s that nobody knows: %w", c.Name, err)
	}
	if len(dropped) > 0 {
		slices.Sort(dropped)
		c.notef("who began fabric %s was ended before it was up: made anew on %s", c.Name, strings.Join(dropped, ", "))
	}
	return nil
}
