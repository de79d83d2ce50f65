package api

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/weft-fabric/weft/fabricd/auth"
)

// stream serves the state stream as server-sent events. A viewer that does not read is ended after
// a while; until then it holds up nobody, and is given a snapshot when it reads again.
func (w *Web) stream(out http.ResponseWriter, r *http.Request) {
	client := w.client(r)
	if !w.watching.take(client, 1) {
		busy(out, http.StatusTooManyRequests, "viewers of this client")
		return
	}
	defer w.watching.release(client, 1)
	ctx, leave, ok := w.streams.enter(r, w.bearer(r))
	if !ok {
		busy(out, http.StatusServiceUnavailable, "viewers")
		return
	}
	defer leave()
	rc := http.NewResponseController(out)
	_ = rc.SetReadDeadline(time.Time{}) // for as long as it lasts; both are there on every server of ours
	v, err := w.Server.stream.watch(r)
	if err != nil {
		refuse(out, http.StatusNotFound, err)
		return
	}
	defer v.Close()
	h := out.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	out.WriteHeader(http.StatusOK)
	_ = rc.SetWriteDeadline(time.Now().Add(viewerTime))
	fmt.Fprint(out, "retry: 500\n\n")
	if rc.Flush() != nil {
		return
	}
	for {
		id, frame, err := v.Next(ctx)
		if err != nil {
			return
		}
		_ = rc.SetWriteDeadline(time.Now().Add(viewerTime))
		fmt.Fprintf(out, "event: frame\nid: %s\ndata: %s\n\n", id, frame)
		if rc.Flush() != nil {
			return
		}
	}
}

// streams are those that are open.
type streams struct {
	mu   sync.Mutex
	open map[*http.Request]stream // guarded by mu; bound: maxStreams
}

type stream struct {
	by  bearer // who has opened it
	end context.CancelFunc
}

// enter opens the stream of a request, until leave; false: there are as many as there may be. The
// context ends with the request, or when it may look no more.
func (s *streams) enter(r *http.Request, by bearer) (ctx context.Context, leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= maxStreams {
		return nil, nil, false
	}
	if s.open == nil {
		s.open = map[*http.Request]stream{}
	}
	ctx, end := context.WithCancel(r.Context())
	s.open[r] = stream{by, end}
	return ctx, func() {
		end()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, r)
	}, true
}

// end ends the streams of which may is false, and returns how many.
func (s *streams) end(may func(*http.Request, bearer) bool) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r, one := range s.open {
		if !may(r, one.by) {
			one.end()
			delete(s.open, r)
			n++
		}
	}
	return n
}

// expel ends, until ctx does, the sessions and streams of tokens that are taken back.
func (w *Web) expel(ctx context.Context) {
	tick := time.NewTicker(lookTime)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		gone := w.sessions.drop(func(s session) bool { return w.holds(s.by) })
		ended := w.streams.end(func(r *http.Request, by bearer) bool { return w.holds(by) && w.access(r) >= auth.View })
		if gone > 0 || ended > 0 {
			w.Log.Warn("sessions and streams have ended: their tokens hold no more", "sessions", gone, "streams", ended)
		}
	}
}

// watch begins watching as a request asks for.
func (s *Stream) watch(r *http.Request) (*Viewer, error) {
	after, q := r.Header.Get("Last-Event-ID"), r.URL.Query()
	if !q.Has("open") {
		return s.Watch(after), nil
	}
	return s.WatchPods(after, q.Get("open"))
}
