package manager

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness/rig"
)

// doubts is a fabric of which nobody asks but how many links are doubtful.
type doubts struct {
	Fabric
	links, asked atomic.Int32
}

func (d *doubts) Ports(context.Context) (fabric.Ports, error) {
	d.asked.Add(1)
	return fabric.Ports{Uncertain: int(d.links.Load())}, nil
}

func TestAManagerWaitsForTheOtherEndOfALinkAndNotWhenBothHaveSpoken(t *testing.T) {
	t.Parallel()
	d := &doubts{}
	d.links.Store(1)
	m := New(Config{Fabric: d, State: &Memory{}, Window: time.Hour, Most: time.Hour})
	done := make(chan error, 1) // capacity 1: one answer
	go func() { done <- m.coalesce(t.Context()) }()
	rig.Until(t, func() bool { return d.asked.Load() == 1 })
	m.hear()
	rig.Until(t, func() bool { return d.asked.Load() == 2 })
	select {
	case <-done:
		require.FailNow(t, "an end has not spoken")
	default:
	}
	d.links.Store(0)
	m.hear()
	require.NoError(t, rig.Next(t, done, "both have spoken"))
}
