package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/ledger"
)

// Verbs of an agent, see [bus.Subject].
const (
	verbHost   = "host"   // a hostRequest, answered by a hostAnswer
	verbDrop   = "drop"   // a dropRequest, answered by a dropAnswer
	verbStatus = "status" // nothing, answered by a Status
)

// hostRequest asks an agent to run a host.
type hostRequest struct {
	Needs Room      `json:"needs"`
	Spec  host.Spec `json:"spec"`
}

// hostAnswer says that the host runs, or which one runs there in its place already.
type hostAnswer struct {
	Runs uint64 `json:"runs,omitempty"` // its number; 0: it was made
}

// dropRequest asks an agent to end its host of a fabric, and its moved switches.
type dropRequest struct {
	Fabric string `json:"fabric"`
	Term   uint64 `json:"term,omitempty"`
	Why    string `json:"why"`
}

type dropAnswer struct {
	Dropped bool `json:"dropped"` // there was a host, or a moved switch
}

// ask asks an agent.
func ask[Resp any](ctx context.Context, c *bus.Client, agent, verb string, req any) (Resp, error) {
	return bus.Call[Resp](ctx, c, bus.Subject{Kind: bus.SubjectAgent, Node: agent, Verb: verb}, req)
}

// answer has an agent answer.
func answer[Req, Resp any](s *bus.Server, verb string, h func(ctx context.Context, req Req) (Resp, error)) error {
	return bus.Handle(s, bus.Subject{Kind: bus.SubjectAgent, Verb: verb}, h)
}

// Status is what an agent tells of itself.
type Status struct {
	Name    string       `json:"name"`
	ID      string       `json:"id"` // of this run of it
	Host    string       `json:"host"`
	PID     int          `json:"pid"`
	Started time.Time    `json:"started"` // by the clock of its host
	Version bus.Build    `json:"version"`
	Room    Room         `json:"room"` // what it offers in all
	Used    Room         `json:"used"`
	Hosts   []HostedSpec `json:"hosts,omitempty"`
	Parts   []HostedSpec `json:"parts,omitempty" msgpack:"-"` // the same, under its old name: until 0.2.0
}

// HostedSpec is a host that an agent runs: its own host of a fabric, or a moved switch, that is a
// switch of another host which the leader has moved here.
type HostedSpec struct {
	Fabric string `json:"fabric"`
	Switch string `json:"switch,omitempty"` // that has moved there; empty: it is the agent's own host
	Number uint64 `json:"number"`
	Term   uint64 `json:"term,omitempty"`
	Needs  Room   `json:"needs"`
}

func (h HostedSpec) key() hostKey { return hostKey{h.Fabric, h.Switch} }

// String names the host for those who read what becomes of it.
func (h HostedSpec) String() string {
	if h.Switch != "" {
		return fmt.Sprintf("switch %s of fabric %s", h.Switch, h.Fabric)
	}
	return fmt.Sprintf("host %v of fabric %s", ledger.Incarnation(h.Number), h.Fabric)
}
