package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/weft-fabric/weft/fabricd/document/plain"
	"github.com/weft-fabric/weft/switch/wire"
)

// bounded makes as many answers at a time as there are places; some more requests wait a moment,
// and the rest is refused at once: of each client so many, whatever others do. Who sends or reads
// slowly keeps one of the requests of its own, and no place. A body has at most so many bytes; one
// above maxBody counts for as many requests.
func (w *Web) bounded(places *places, most int64, next http.HandlerFunc) http.HandlerFunc {
	return func(out http.ResponseWriter, r *http.Request) {
		client := w.client(r)
		share := 1
		if r.ContentLength < 0 || r.ContentLength > maxBody {
			share = int(most / maxBody)
		}
		if !w.held.take(client, share) {
			busy(out, http.StatusTooManyRequests, "requests of this client")
			return
		}
		defer w.held.release(client, share)
		r.Body = http.MaxBytesReader(out, r.Body, most)
		if places == w.orders { // only orders say something in their body
			r.Body = received(r.Body)
		}
		switch err := places.take(r.Context(), client, queueTime); {
		case errors.Is(err, errNoPlace):
			busy(out, http.StatusServiceUnavailable, "requests")
			return
		case err != nil:
			return // who asked is gone
		}
		made := made{ResponseWriter: out, code: http.StatusOK}
		func() {
			defer places.leave(client) // also when it panics
			next(&made, r)
		}()
		out.WriteHeader(made.code)
		_, _ = out.Write(made.body.Bytes()) // who asked may be gone
	}
}

// received is a body once all of it is here, or as much as came before an error, which follows it.
func received(body io.ReadCloser) io.ReadCloser {
	data, err := io.ReadAll(body)
	rest := io.Reader(bytes.NewReader(data))
	if err != nil {
		rest = io.MultiReader(rest, broken{err})
	}
	return struct {
		io.Reader
		io.Closer
	}{rest, body}
}

// broken is a reader that fails.
type broken struct{ err error }

// Read implements [io.Reader].
func (i broken) Read([]byte) (int, error) { return 0, i.err }

// made is an answer that is not sent yet.
type made struct {
	http.ResponseWriter
	code int
	body bytes.Buffer
}

// WriteHeader implements [http.ResponseWriter].
func (m *made) WriteHeader(code int) { m.code = code }

// Write implements [http.ResponseWriter].
func (m *made) Write(data []byte) (int, error) { return m.body.Write(data) }

func busy(out http.ResponseWriter, code int, what string) {
	out.Header().Set("Retry-After", "1")
	out.Header().Set("Connection", "close") // what is left of a body is not waited for
	refuse(out, code, fmt.Errorf("too many %s at once: try again in a second", what))
}

// failed is the body of every answer that is an error.
type failed struct {
	Error string `json:"error" jsonschema_description:"What happened, to which object, what to do."`
}

// refuse answers with an error.
func refuse(out http.ResponseWriter, code int, err error) {
	send(out, code, failed{plain.Error(err.Error())})
}

// send answers in JSON.
func send(out http.ResponseWriter, code int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		code, data = http.StatusInternalServerError, []byte(`{"error":"the answer does not encode"}`)
	}
	h := out.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	out.WriteHeader(code)
	_, _ = out.Write(append(data, '\n')) // who asked may be gone
}

// answer answers with what a handler returned.
func answer(out http.ResponseWriter, v any, err error) {
	if err != nil {
		refuse(out, code(err), err)
		return
	}
	send(out, http.StatusOK, v)
}

// coded is an error with a status of its own.
type coded struct {
	error
	code int
}

// Unwrap returns the error.
func (c coded) Unwrap() error { return c.error }

// code is the status for an error.
func code(err error) int {
	var c coded
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &c):
		return c.code
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, wire.ErrClosed):
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}
