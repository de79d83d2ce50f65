package api

import (
	"fmt"
	"net/http"
	"time"
)

// stream serves the state stream as server-sent events. A viewer that does not read is ended after a while; until then it holds up
// nobody, and is given a snapshot when it reads again.
func (w *Web) stream(out http.ResponseWriter, r *http.Request) {
	select {
	case w.streams <- struct{}{}:
		defer func() { <-w.streams }()
	default:
		busy(out, http.StatusServiceUnavailable, "viewers")
		return
	}
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
		id, frame, err := v.Next(r.Context())
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

// watch begins watching as a request asks for.
func (s *Stream) watch(r *http.Request) (*Viewer, error) {
	after, q := r.Header.Get("Last-Event-ID"), r.URL.Query()
	if !q.Has("open") {
		return s.Watch(after), nil
	}
	return s.WatchPods(after, q.Get("open"))
}
