package manager_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/fabricd/manager/remote"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/harness/live"
)

// returns notes leases that are given back.
type returns struct {
	manager.State
	given atomic.Int32
}

func (r *returns) Update(ctx context.Context, key string, value []byte, last uint64) (uint64, error) {
	if key == "lease" && len(value) == 0 {
		r.given.Add(1)
	}
	return r.State.Update(ctx, key, value, last)
}

// What a fabric that has ended kept goes with its broker, and nobody waits for that to answer.
func TestALeaseIsNotGivenBackToAFabricThatHasEnded(t *testing.T) {
	t.Parallel()
	for _, ends := range []bool{true, false} {
		l := start(t, "kary-ntree:2,3", "ftree")
		as := l.identity("ddrc")
		r,
			err := remote.Dial(bus.ClientConfig{Fabric: live.Name, URL: as.URL, Credentials: as.Credentials, Program: "manage"})
		require.NoError(t, err)
		store, err := bus.OpenStore(t.Context(), bus.StoreConfig{Fabric: live.Name, URL: as.URL, Credentials: as.Credentials})
		require.NoError(t, err)
		state := &returns{State: store}
		notes, over := make(chan manager.Note, 100), make(chan error, 1)
		ctx, interrupt := context.WithCancel(t.Context())
		go func() {
			over <- manager.New(manager.Config{
				Fabric: r, State: state, Method: "ddrc", Holder: as.Holder,
				Tell: func(n manager.Note) { notes <- n },
			}).Run(ctx)
		}()
		l.await(notes, manager.NoteManages)
		if ends {
			fabric,
				err := bus.NewServer(bus.ServerConfig{
				Fabric: live.Name, URL: as.URL,
				Credentials: l.Broker.Credentials(bus.RoleFabric),
			})
			require.NoError(t, err)
			require.NoError(t, fabric.End())
			require.NoError(t, fabric.Close())
			require.ErrorIs(t, <-over, reply.ErrEnded)
			require.Zero(t, state.given.Load())
		} else {
			interrupt()
			require.NoError(t, <-over)
			require.EqualValues(t, 1, state.given.Load(), "so that another one can manage at once")
		}
		interrupt()
		store.Close()
		require.NoError(t, r.Close())
	}
}

// deaf is a fabric whose Watch does not say that it has ended.
type deaf struct {
	*gate
	heard chan func()
}

func (d *deaf) Watch(ctx context.Context, heard func()) error {
	d.heard <- heard
	<-ctx.Done()
	return ctx.Err()
}

func TestAManagerThatIsToldByAnAnswerThatItsFabricHasEndedEnds(t *testing.T) {
	t.Parallel()
	l := start(t, "kary-ntree:2,3", "ftree")
	d := &deaf{gate: l.gate, heard: make(chan func(), 1)}
	state := &returns{State: &manager.Memory{}}
	notes, over := make(chan manager.Note, 100), make(chan error, 1)
	m := manager.New(manager.Config{
		Fabric: d, State: state, Method: "ddrc", Patience: l.patience, Retry: time.Millisecond,
		Tell: func(n manager.Note) {
			select {
			case notes <- n:
			default: // a manager that does not end sends more of them
			}
		},
	})
	go func() { over <- m.Run(t.Context()) }()
	l.await(notes, manager.NoteManages)
	l.gate.set(func(string) error { return reply.ErrEnded })
	(<-d.heard)()
	err := <-over
	require.ErrorIs(t, err, manager.ErrGone)
	require.ErrorIs(t, err, reply.ErrEnded)
	require.Zero(t, state.given.Load())
}
