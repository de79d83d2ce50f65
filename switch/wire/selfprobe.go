package wire

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// SelfProbe measures how long a transport holds frames up on their way: per shard, it sends a frame
// to itself and waits for it, again and again. Whoever listens for silent neighbours asks it
// whether the silence is ours.
type SelfProbe struct {
	transport Transport
	every     time.Duration
	start     time.Time
	shards    []pulse // constant
}

type pulse struct {
	out   Sender
	inbox chan Message  // cap maxBeats
	sent  time.Duration // since start; 0: none is on its way
	// In nanoseconds since start: when the latest that came back was sent, and when one last came
	// back late.
	fresh, late atomic.Int64
}

// NewSelfProbe prepares beats on all shards of t, so far apart. Run sends them. It must be called
// before t.Ready.
func NewSelfProbe(t Transport, every time.Duration) (*SelfProbe, error) {
	b := &SelfProbe{transport: t, every: every, start: time.Now(), shards: make([]pulse, t.Shards())}
	for found, i := 0, 0; found < len(b.shards); i++ {
		name := fmt.Sprintf("beat-%d", i)
		d := Direction{From: name, To: name, ToPort: 1}
		p := &b.shards[t.Shard(name)]
		if p.out != nil {
			continue
		}
		p.inbox = make(chan Message, maxProbes)
		if err := t.Listen(d, p.inbox); err != nil {
			return nil, fmt.Errorf("wire: beat: %w", err)
		}
		out, err := t.Sender(d)
		if err != nil {
			return nil, fmt.Errorf("wire: beat: %w", err)
		}
		p.out = out
		found++
	}
	return b, nil
}

// Run beats until ctx ends, and returns when its goroutines have.
func (b *SelfProbe) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for i := range b.shards {
		wg.Go(func() { b.probe(ctx, &b.shards[i]) })
	}
	wg.Wait()
}

// lostProbe is after how long a beat is taken for lost, as when the connection was, and the next is
// sent.
const lostProbe = 2 * time.Second

// maxProbes may come late all at once: as many as are sent in half a minute in which none comes
// back.
const maxProbes = 16

func (b *SelfProbe) probe(ctx context.Context, p *pulse) {
	p.fresh.Store(int64(time.Since(b.start)))
	tick := time.NewTicker(b.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-p.inbox:
			m.Release()
			if now := time.Since(b.start); now-p.sent > b.every {
				p.late.Store(int64(now))
			}
			p.fresh.Store(int64(p.sent))
			p.sent = 0
		case <-tick.C:
			if now := time.Since(b.start); p.sent == 0 || now-p.sent > lostProbe {
				if p.sent = now; p.out.Send([]byte{0}) != nil {
					p.sent = 0 // the connection is gone; others tell
				}
			}
		}
	}
}

// Late reports whether the frames of a shard are late by more than slack now, or were by more than
// the time between beats within that time. It counts as late too when the beat itself is not let
// run.
func (b *SelfProbe) Late(shard int, slack, within time.Duration) bool {
	p, now := &b.shards[shard], time.Since(b.start)
	late := time.Duration(p.late.Load())
	return now-time.Duration(p.fresh.Load())-b.every > slack || late != 0 && now-late < within
}
