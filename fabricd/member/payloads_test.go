package member_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/nic/ip"
	"github.com/weft-fabric/weft/nic/netstack"
)

// What packets carry goes along with a switch that moves to a process and back: a connection
// through it goes on, its bytes are those that were sent, and every buffer comes back.
func TestPayloadsGoAlongWithASwitchThatMoves(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	l := start(t, true, with("adaptive-link"))
	topology := l.Fabric.Topology()
	nics := len(topology.NICs)
	stack := func(id weft.NICID) *netstack.Stack {
		s, err := netstack.New(netstack.Config{
			ID: id, Port: ip.Open(l.Fabric.LocalNIC(id), id, nics), MTU: weft.MaxPayload, Lookup: topology.NICByName,
		})
		require.NoError(t, err)
		t.Cleanup(s.Close)
		return s
	}
	from, to := stack(0), stack(weft.NICID(nics-1))
	listener, err := to.Listen("tcp", ":80")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), rig.Patience)
	defer cancel()
	sink, err := from.DialContext(ctx, "tcp", topology.NICs[nics-1].Name+":80")
	require.NoError(t, err)
	source, err := listener.Accept()
	require.NoError(t, err)
	var blocks atomic.Uint64
	var stop atomic.Bool
	var g errgroup.Group
	block := func(n uint64) []byte { return bytes.Repeat(binary.BigEndian.AppendUint64(nil, n), 8000) }
	g.Go(func() error {
		for n := uint64(0); !stop.Load(); n++ {
			if _, err := source.Write(block(n)); err != nil {
				return err
			}
		}
		return source.Close()
	})
	g.Go(func() error {
		for n := uint64(0); ; n++ {
			got := make([]byte, 64000)
			if _, err := io.ReadFull(sink, got); err != nil {
				return errors.Join(sink.Close(), ignore(err, io.EOF))
			}
			if !bytes.Equal(got, block(n)) {
				return errors.New("other bytes than were sent")
			}
			blocks.Store(n + 1)
		}
	})
	goesOn := func() {
		t.Helper()
		before := blocks.Load()
		rig.Until(t, func() bool { return blocks.Load() > before+10 }, "the connection goes on")
	}
	leaf, _ := topology.SwitchOf(0) // all that the connection sends goes through it
	goesOn()
	p := l.startSwitch(topology.Switches[leaf].Name)
	goesOn()
	p.Signal(syscall.SIGTERM)
	code, said := p.Ends()
	require.Zero(t, code, said)
	goesOn()
	stop.Store(true)
	require.NoError(t, g.Wait())
	require.NoError(t, listener.Close())
	from.Close()
	to.Close()
	require.True(t, l.settle().Balanced)
	require.Zero(t, l.Fabric.LocalNIC(0).Payloads().Held())
}

func ignore(err, which error) error {
	if errors.Is(err, which) {
		return nil
	}
	return err
}
