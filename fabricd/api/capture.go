package api

import (
	"context"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/switch/wire"
)

// VerbCapture asks for what a capture needs to know of the fabric, a CaptureInfo.
const VerbCapture = "get.capture"

// CaptureInfo is what a capture needs to know of a fabric.
type CaptureInfo struct {
	Fabric   string `json:"fabric"`
	Topology string `json:"topology"` // what it was made of, as kary-ntree:4,3
	Routing  string `json:"routing"`
	Firmware string `json:"firmware"`  // the same, under its old name: until 0.2.0
	Time     string `json:"time"`      // how fast its clock goes, in words
	Version  int    `json:"version"`   // of the frames on its links
	InMemory bool   `json:"in_memory"` // its links are in memory, and nobody else can hear them
	Event    uint64 `json:"event"`     // number of the latest event
	Hop      uint64 `json:"hop"`       // number of what was told latest of traced packets
}

func (s *Server) capture(context.Context, none) (CaptureInfo, error) {
	tempo := s.fabric.Tempo()
	return CaptureInfo{
		Time: tempo.String(), Fabric: s.info.Name, Topology: s.fabric.Topology().Spec, Routing: s.info.Routing,
		Firmware: s.info.Routing, Version: wire.Version,
		InMemory: s.fabric.InMemory(), Event: s.fabric.Events().Last(), Hop: s.fabric.LastHop(),
	}, nil
}

// CaptureInfo asks for what a capture needs to know.
func (c *Client) CaptureInfo(ctx context.Context) (CaptureInfo, error) {
	return ask[CaptureInfo](ctx, c, VerbCapture, nil)
}

// Tap hears the frames of links, see [bus.Client.Tap].
func (c *Client) Tap(ends []bus.TapEnd, buffer int) (*bus.Tap, error) { return c.bus.Tap(ends, buffer) }
