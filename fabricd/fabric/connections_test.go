package fabric_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/nic/ip"
	"github.com/weft-fabric/weft/nic/netstack"
)

// The report of a fault has what connections suffered on all hosts.
func TestConnectionsOfAllHostsAreInTheReportOfAFault(t *testing.T) {
	t.Parallel()
	l := startHosts(t, 2)
	g := l.Fabric.Topology()
	hosts := onHosts(g, 2)
	stack := func(host int) (*netstack.Stack, string) {
		id := hosts[host].NICs[0]
		s, err := netstack.New(netstack.Config{
			ID: id, Port: ip.Open(l.agents.Of(hosts[host].Name).NIC(id), id, len(g.NICs)), Lookup: g.NICByName,
		})
		require.NoError(t, err)
		t.Cleanup(s.Close)
		return s, g.Name(id.Node())
	}
	here, name := stack(0)
	there, to := stack(1)
	listener, err := there.Listen("tcp", ":80")
	require.NoError(t, err)
	var running errgroup.Group
	running.Go(func() error {
		c, err := listener.Accept()
		if err != nil {
			return err
		}
		_, err = io.Copy(c, c) // back again: both sides send
		return errors.Join(err, c.Close())
	})
	ctx, cancel := context.WithTimeout(t.Context(), rig.Patience)
	defer cancel()
	c, err := here.DialContext(ctx, "tcp", to+":80")
	require.NoError(t, err)
	running.Go(func() error {
		for ctx.Err() == nil {
			if _, err := c.Write(make([]byte, 4<<10)); err != nil {
				return err
			}
		}
		return c.Close()
	})
	running.Go(func() error { _, err := io.Copy(io.Discard, c); return err })

	at := leafOf(t, g, name)
	_, err = l.Fabric.Apply(ctx, fault.Spec{Do: fault.VerbCut, A: name, B: at})
	require.NoError(t, err)
	var report fault.Report
	l.until("a side stands still", func() bool {
		report = l.Fabric.Faults()[0]
		return report.Connections != nil && report.Connections.Longest > 0.2
	})
	_, err = l.Fabric.Apply(ctx, fault.Spec{Do: fault.VerbRestore, A: name, B: at})
	require.NoError(t, err)
	l.until("what was lost is sent again, and both sides go on", func() bool {
		report = l.Fabric.Faults()[0]
		return !report.Open || report.Connections.Resent > 0 && report.Connections.Count == 2
	})
	require.Positive(t, report.Connections.Resent)
	require.ElementsMatch(t, []string{name, to},
		[]string{report.Connections.Worst[0].NIC, report.Connections.Worst[1].NIC})
	cancel()
	here.Close() // which ends all that waits
	there.Close()
	_ = running.Wait()
}

// leafOf is the name of the switch that a NIC is at.
func leafOf(t *testing.T, g interface {
	Name(weft.Node) string
	NICByName(string) (weft.NICID, error)
	Peer(weft.End) (weft.End, weft.LinkID, bool)
}, nic string,
) string {
	t.Helper()
	id, err := g.NICByName(nic)
	require.NoError(t, err)
	peer, _, ok := g.Peer(weft.End{Node: id.Node()})
	require.True(t, ok)
	return g.Name(peer.Node)
}
