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
	inbox chan Message // cap 1: one beat is on its way at most
	sent  atomic.Int64 // when, in nanoseconds since start; 0: none is on its way
}

// NewBeat prepares beats on all shards of t, so far apart. Run sends them. It must be called before t.Ready.
func NewBeat(t Transport, every time.Duration) (*Beat, error) {
	b := &Beat{transport: t, every: every, start: time.Now().Add(-time.Second), shards: make([]pulse, t.Shards())}
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
	tick := time.NewTicker(b.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-p.inbox:
			m.Release()
			p.sent.Store(0)
		case <-tick.C:
			if sent := p.sent.Load(); sent != 0 && time.Since(b.start)-time.Duration(sent) < lostBeat {
				continue
			}
			p.sent.Store(int64(time.Since(b.start)))
			if p.out.Send([]byte{0}) != nil {
				p.sent.Store(0) // the connection is gone; others tell
			}
		}
	}
}

// Lag is for how long the beat of a shard has been on its way, 0 when none is.
func (b *Beat) Lag(shard int) time.Duration {
	sent := b.shards[shard].sent.Load()
	if sent == 0 {
		return 0
	}
	return time.Since(b.start) - time.Duration(sent)
}
