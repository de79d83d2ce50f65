package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"
)

// client is whose bounds a request counts for: those of its token, else of its connection.
func (w *Web) client(r *http.Request) string {
	if b := w.bearer(r); b.role != 0 {
		return "token " + b.token.Name
	}
	return r.RemoteAddr
}

// shares bounds how much one client has at a time, so that nothing is refused to others for it.
type shares struct {
	limit int // of one client

	mu   sync.Mutex
	held map[string]int // guarded by mu
}

// take reports whether the client may have n more, until release.
func (s *shares) take(client string, n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[client]+n > s.limit {
		return false
	}
	if s.held == nil {
		s.held = map[string]int{}
	}
	s.held[client] += n
	return true
}

func (s *shares) release(client string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[client] -= n; s.held[client] == 0 {
		delete(s.held, client)
	}
}

// places are the answers that are made at a time. One client has half of them at most, and a place
// that becomes free is for the client that has the fewest; among equals, for who has waited
// longest.
type places struct {
	mu      sync.Mutex
	free    int            // guarded by mu
	most    int            // of one client
	busy    map[string]int // guarded by mu
	waiting []*waiting     // guarded by mu; bound: requests that are held
}

type waiting struct {
	client  string
	granted chan struct{} // closed with places.mu held
}

func newPlaces(n int) *places { return &places{free: n, most: max(1, n/2), busy: map[string]int{}} }

var errNoPlace = errors.New("no place became free")

// take waits for a place, until leave; at most for so long, errNoPlace, and until ctx ends.
func (p *places) take(ctx context.Context, client string, patience time.Duration) error {
	one := &waiting{client, make(chan struct{})}
	p.mu.Lock()
	p.waiting = append(p.waiting, one)
	p.grant()
	p.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	err := errNoPlace
	select {
	case <-one.granted:
		return nil
	case <-timer.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiting, one); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
		return err
	}
	return nil // granted meanwhile
}

func (p *places) leave(client string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free++
	if p.busy[client]--; p.busy[client] == 0 {
		delete(p.busy, client)
	}
	p.grant()
}

// grant gives what is free to those who wait. The caller holds mu.
func (p *places) grant() {
	for p.free > 0 {
		next := -1
		for i, w := range p.waiting {
			if n := p.busy[w.client]; n < p.most && (next < 0 || n < p.busy[p.waiting[next].client]) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		one := p.waiting[next]
		p.waiting = slices.Delete(p.waiting, next, next+1)
		p.free--
		p.busy[one.client]++
		close(one.granted)
	}
}
