package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/weft-fabric/weft/fabricd/bus"
)

// bounded makes as many answers at a time as there are places; some more requests wait a moment, and the rest is refused at once. Who
// reads slowly keeps a place among those that wait, and not one of the few.
func (w *Web) bounded(places chan struct{}, next http.HandlerFunc) http.HandlerFunc {
	return func(out http.ResponseWriter, r *http.Request) {
		select {
		case w.queued <- struct{}{}:
			defer func() { <-w.queued }()
		default:
			busy(out, http.StatusTooManyRequests, "requests")
			return
		}
		patience := time.NewTimer(queueTime)
		defer patience.Stop()
		select {
		case places <- struct{}{}:
		case <-patience.C:
			busy(out, http.StatusServiceUnavailable, "requests")
			return
		case <-r.Context().Done():
			return
		}
		r.Body = http.MaxBytesReader(out, r.Body, maxBody)
		made := made{ResponseWriter: out, code: http.StatusOK}
		func() {
			defer func() { <-places }() // also when it panics
			next(&made, r)
		}()
		out.WriteHeader(made.code)
		_, _ = out.Write(made.body.Bytes()) // who asked may be gone
	}
}

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
	refuse(out, code, fmt.Errorf("too many %s at once: try again in a second", what))
}

// failed is the body of every answer that is an error.
type failed struct {
	Error string `json:"error" jsonschema_description:"What happened, to which object, what to do."`
}

// refuse answers with an error.
func refuse(out http.ResponseWriter, code int, err error) { send(out, code, failed{err.Error()}) }

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
	case errors.Is(err, bus.ErrClosed):
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}
