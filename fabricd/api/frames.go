package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/fabricd/bus"
)

// Over the broker, frames are published as [StreamFrame] as long as somebody says now and then that
// he watches.
const (
	StreamFrame  = "frame"        // a [Frame], or a page of one
	VerbWatch    = "get.watch"    // says so; answered by a [Watching]
	VerbSnapshot = "get.snapshot" // a [SnapshotRequest], answered by a page of a [Frame]
)

// Chosen by us.
const (
	leaseTime  = 10 * time.Second // how long it holds that somebody watches
	renewEvery = 3 * time.Second
	silence    = time.Second     // without a frame, after which the fabric is asked whether it is there
	renewTime  = 2 * time.Second // it gets to answer
	// maxSnapshots bounds the snapshots whose pages may still be asked for.
	maxSnapshots = 4
)

// Watching answers somebody who watches.
type Watching struct {
	Run string `json:"run"`
	Seq uint64 `json:"seq"` // of the latest frame
}

// SnapshotRequest asks for a page of a snapshot: the first of a new one, or another of the one with
// that number.
type SnapshotRequest struct {
	Seq  uint64 `json:"seq,omitempty"`
	Page int    `json:"page,omitempty"`
}

// paged is a snapshot for those who ask over the broker.
type paged struct {
	seq   uint64
	pages [][]byte
}

// lease notes that somebody watches over the broker.
func (s *Stream) lease() Watching {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leased = time.Now().Add(leaseTime)
	wake(s.leasing)
	return Watching{Run: s.run, Seq: s.state.Seq}
}

// publish tells frames to those who watch over the broker, until ctx ends. Those whom the broker is
// too slow for are told snapshots.
func (s *Stream) publish(ctx context.Context, send func(kind string, v any) error) {
	for {
		select {
		case <-s.leasing:
		case <-ctx.Done():
			return
		}
		v := s.follow()
		for s.isLeased(time.Now()) {
			_, data, err := v.Next(ctx)
			if err != nil {
				break
			}
			for _, p := range s.paged(data) {
				_ = send(StreamFrame, json.RawMessage(p)) // a broker that is gone has told so itself
			}
		}
		v.Close()
	}
}

func (s *Stream) isLeased(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Before(s.leased)
}

// paged is a frame in as many pages as it needs.
func (s *Stream) paged(data []byte) [][]byte {
	if len(data) <= s.page {
		return [][]byte{data}
	}
	var f Frame
	if err := json.Unmarshal(data, &f); err != nil {
		panic("api: BUG: a frame of ours does not decode: " + err.Error())
	}
	return pages(f, s.page)
}

// snapshotPage answers a SnapshotRequest.
func (s *Server) snapshotPage(ctx context.Context, r *SnapshotRequest) (json.RawMessage, error) {
	if r == nil {
		r = &SnapshotRequest{}
	}
	if r.Seq == 0 {
		v := s.stream.Watch("")
		defer v.Close()
		_, data, err := v.Next(ctx)
		if err != nil {
			return nil, err
		}
		s.snapshots = newest(append(s.snapshots, paged{v.seq, s.stream.paged(data)}), maxSnapshots)
		r.Seq = v.seq
	}
	for _, p := range s.snapshots {
		if p.seq != r.Seq {
			continue
		}
		if r.Page < 0 || r.Page >= len(p.pages) {
			return nil, fmt.Errorf("page %d of snapshot %d: it has pages 0 to %d", r.Page, r.Seq, len(p.pages)-1)
		}
		return json.RawMessage(p.pages[r.Page]), nil
	}
	return nil, fmt.Errorf("snapshot %d is not kept any more: ask for a new one, with seq 0", r.Seq)
}

// frameBuffer bounds the pages that wait for a viewer; one that is slower begins anew with a
// snapshot.
const frameBuffer = 64

// Frames calls f with a snapshot and then with every frame that follows, until ctx ends or f
// returns an error. When frames were lost, or the fabric runs anew, f is given a snapshot again. It
// fails when the fabric does not answer any more; then dial anew.
func (c *Client) Frames(ctx context.Context, f func(Frame) error) error {
	live, err := c.bus.Subscribe(StreamFrame, frameBuffer)
	if err != nil {
		return err
	}
	defer live.Close()
	renew := func() error {
		bounded, cancel := context.WithTimeout(ctx, renewTime)
		defer cancel()
		_, err := ask[none](bounded, c, VerbWatch, nil)
		return err
	}
	if err := renew(); err != nil {
		return err
	}
	var j join
	var have Watching // run and number of the last frame that f was given
	fresh := func() error {
		s, err := c.Snapshot(ctx)
		if err != nil {
			return err
		}
		j, have = join{}, Watching{s.Run, s.Seq}
		return f(s)
	}
	if err := fresh(); err != nil {
		return err
	}
	renewed := time.Now()
	for {
		if time.Since(renewed) > renewEvery {
			if err := renew(); err != nil {
				return err
			}
			renewed = time.Now()
		}
		p, err := nextPage(ctx, live)
		if errors.Is(err, errNothing) {
			renewed = time.Time{}
			continue
		}
		if err != nil {
			return err
		}
		if p.Run == have.Run && p.Seq <= have.Seq {
			continue // it is in the snapshot
		}
		frame, whole, err := j.add(p)
		switch {
		case err == nil && !whole:
			continue
		case err == nil && (frame.Kind == KindSnapshot || frame.Run == have.Run && frame.Seq == have.Seq+1):
			have = Watching{frame.Run, frame.Seq}
			err = f(frame)
		default:
			err = fresh() // some were lost
		}
		if err != nil {
			return err
		}
	}
}

var errNothing = errors.New("nothing came")

// nextPage waits for a page, but not for long.
func nextPage(ctx context.Context, live *bus.Events) (p Frame, err error) {
	wait, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	n, err := live.Next(wait)
	switch {
	case err == nil:
	case ctx.Err() == nil && wait.Err() != nil:
		return p, errNothing
	default:
		return p, err
	}
	if err := json.Unmarshal(n.Data, &p); err != nil {
		return p, fmt.Errorf("frame of %d bytes: %w", len(n.Data), err)
	}
	return p, nil
}

// Snapshot asks for the whole state.
func (c *Client) Snapshot(ctx context.Context) (Frame, error) {
	var j join
	var r SnapshotRequest
	for {
		p, err := ask[Frame](ctx, c, VerbSnapshot, r)
		if err != nil {
			return Frame{}, err
		}
		f, whole, err := j.add(p)
		if err != nil || whole {
			return f, err
		}
		r = SnapshotRequest{Seq: p.Seq, Page: p.Page + 1}
	}
}
