package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/reply"
)

// movesTo stands in for a fabric of the hosts east and west, where s1.1 belongs to east.
type movesTo struct {
	mu      sync.Mutex
	at      string
	ordered []MoveRequest
	err     error // of all moves; nil: there is none
}

// moving has a server order moves of m.
func (s *served) moving() *movesTo {
	m := &movesTo{at: "east"}
	s.server.mover = m.move
	return m
}

func (m *movesTo) move(ctx context.Context, sw, host string) (fabric.Moved, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if left, ok := ctx.Deadline(); !ok || time.Until(left) > requestTime {
		return fabric.Moved{}, errors.New("nobody bounds the move")
	}
	m.ordered = append(m.ordered, MoveRequest{sw, host})
	switch {
	case m.err != nil:
		return fabric.Moved{}, m.err
	case sw != "s1.1":
		return fabric.Moved{}, fmt.Errorf("%w: %w", fabric.ErrUnknown,
			document.Unknown("switch", sw, []string{"s1.0", "s1.1"}))
	case host == "":
		host = "east"
	case host != "east" && host != "west":
		return fabric.Moved{}, fmt.Errorf("%w: %w", fabric.ErrUnknown,
			document.Unknown("host", host, []string{"east", "west"}))
	}
	moved := fabric.Moved{Switch: sw, From: m.at, To: host, Changed: m.at != host}
	if moved.Changed {
		moved.Packets, m.at = 5, host
	}
	return moved, nil
}

// requests are those that have come.
func (m *movesTo) requests() []MoveRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ordered
}

// refuse has all moves from now on fail, and returns where the switch runs.
func (m *movesTo) refuse(err error) (at string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
	return m.at
}

func TestAnOperatorMovesASwitch(t *testing.T) {
	t.Parallel()
	s := serve(t)
	moves := s.moving()
	c, ctx := s.dial(true), t.Context()
	for _, x := range []struct {
		host string
		want fabric.Moved
	}{
		{"west", fabric.Moved{Switch: "s1.1", From: "east", To: "west", Packets: 5, Changed: true}},
		{"west", fabric.Moved{Switch: "s1.1", From: "west", To: "west"}},
		{"", fabric.Moved{Switch: "s1.1", From: "west", To: "east", Packets: 5, Changed: true}},
	} {
		got, err := c.Move(ctx, "s1.1", x.host)
		require.NoError(t, err)
		require.Equal(t, x.want, got)
	}
	require.Equal(t, []MoveRequest{{"s1.1", "west"}, {"s1.1", "west"}, {"s1.1", ""}}, moves.requests())

	_, err := s.dial(false).Move(ctx, "s1.1", "west")
	require.ErrorIs(t, err, reply.ErrDenied, "a viewer looks")
	require.Len(t, moves.requests(), 3)
}

func TestAMoveThatCannotBeSaysWhy(t *testing.T) {
	t.Parallel()
	s := serve(t)
	moves := s.moving()
	c := s.dial(true)
	for request, want := range map[string]string{
		`{"switch":"s1.9","host":"west"}`:   `unknown switch "s1.9": did you mean "s1.`,
		`{"switch":"s1.1","host":"wets"}`:   `unknown host "wets": did you mean "west"?`,
		`{"switch":"s1.1","hots":"west"}`:   `unknown field "hots": did you mean "host"? known: host`,
		`{"switch":"s1.1","host":["x"]}`:    "host cannot be a JSON array: expected a text",
		`{"switch":"","host":"west"}`:       `unknown switch ""`,
		`{"host":"west"}`:                   `unknown switch ""`,
		`[{"switch":"s1.1","host":"east"}]`: "a JSON array instead of an object",
	} {
		err := askNone(t.Context(), c, VerbMove, json.RawMessage(request))
		require.ErrorIs(t, err, reply.ErrRefused, request)
		require.ErrorContains(t, err, want, request)
	}
	require.Equal(t, "east", moves.refuse(errors.New("switch s1.1 cannot move: host west does not answer")),
		"nothing has moved")
	_, err := c.Move(t.Context(), "s1.1", "west")
	require.ErrorContains(t, err, "host west does not answer")
}

func TestASwitchMovesOverHTTP(t *testing.T) {
	t.Parallel()
	x := serveWeb(t)
	moves := x.moving()
	require.JSONEq(t, `{"switch":"s1.1","from":"east","to":"west","packets":5,"changed":true}`,
		x.order("/switches/s1.1/move", `{"host":"west"}`).body)
	require.JSONEq(t, `{"switch":"s1.1","from":"west","to":"east","packets":5,"changed":true}`,
		x.order("/switches/s1.1/move", ``).body)
	for _, c := range []struct {
		sw, body string
		code     int
		want     string
	}{
		{"s1.9", ``, http.StatusNotFound, `unknown switch "s1.9": did you mean "s1.`},
		{"s0.0-s1.0", ``, http.StatusNotFound, "s0.0-s1.0 is a link, not a switch"},
		{"n00", ``, http.StatusNotFound, "n00 is a NIC, not a switch"},
		{"s1.1", `{"host":"wets"}`, http.StatusNotFound, `unknown host "wets": did you mean "west"?`},
		{"s1.1", `{"hots":"west"}`, http.StatusBadRequest, `unknown field "hots": did you mean "host"? known: host`},
		{"s1.1", `{"host":3}`, http.StatusBadRequest, "malformed request"},
	} {
		require.Contains(t, refusal(t, x.ask("POST", root+"/switches/"+c.sw+"/move", c.body, x.token), c.code), c.want)
	}
	require.Len(t, moves.requests(), 3, "of those that cannot be, one had a host of no fabric")
	moves.refuse(errors.New("switch s1.1 cannot move: host west does not answer"))
	require.Contains(t, refusal(t, x.ask("POST", root+"/switches/s1.1/move", `{"host":"west"}`, x.token),
		http.StatusServiceUnavailable), "host west does not answer")
}
