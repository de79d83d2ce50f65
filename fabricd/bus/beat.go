package bus

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Beat measures how long a transport holds frames up on their way: per shard, it sends a frame to itself and waits for it,
// again and again. Whoever listens for silent neighbours asks it whether the silence is ours.
type Beat struct {
	transport Transport
	every     time.Duration
	start     time.Time
	shards    []pulse // constant
}

type pulse struct {
	out   Sender
	inbox chan Message  // cap 1: one beat is on its way at most
	sent  time.Duration // since start; 0: none is on its way
	fresh atomic.Int64  // when the latest that came back was sent, in nanoseconds since start
}

// NewBeat prepares beats on all shards of t, so far apart. Run sends them. It must be called before t.Ready.
func NewBeat(t Transport, every time.Duration) (*Beat, error) {
	b := &Beat{transport: t, every: every, start: time.Now(), shards: make([]pulse, t.Shards())}
	for found, i := 0, 0; found < len(b.shards); i++ {
		d := Direction{From: fmt.Sprintf("beat-%d", i), To: "beat"}
		p := &b.shards[t.Shard(d)]
		if p.out != nil {
			continue
		}
		p.inbox = make(chan Message, 1)
		if err := t.Listen(d, p.inbox); err != nil {
			return nil, fmt.Errorf("bus: beat: %w", err)
		}
		out, err := t.Sender(d)
		if err != nil {
			return nil, fmt.Errorf("bus: beat: %w", err)
		}
		p.out = out
		found++
	}
	return b, nil
}

// Run beats until ctx ends, and returns when its goroutines have.
func (b *Beat) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for i := range b.shards {
		wg.Go(func() { b.beat(ctx, &b.shards[i]) })
	}
	wg.Wait()
}

// lostBeat is after how long a beat is taken for lost, as when the connection was, and the next is sent.
const lostBeat = 2 * time.Second

func (b *Beat) beat(ctx context.Context, p *pulse) {
	p.fresh.Store(int64(time.Since(b.start)))
	tick := time.NewTicker(b.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-p.inbox:
			m.Release()
			p.fresh.Store(int64(p.sent))
			p.sent = 0
		case <-tick.C:
			if now := time.Since(b.start); p.sent == 0 || now-p.sent > lostBeat {
				if p.sent = now; p.out.Send([]byte{0}) != nil {
					p.sent = 0 // the connection is gone; others tell
				}
			}
		}
	}
}

// Lag is by how much the frames of a shard are late: how long ago the latest beat that came back was sent, but for the time
// between beats. So it counts too when the beat itself was not let run.
func (b *Beat) Lag(shard int) time.Duration {
	return max(0, time.Since(b.start)-time.Duration(b.shards[shard].fresh.Load())-b.every)
}
