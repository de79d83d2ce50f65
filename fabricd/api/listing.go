package api

import (
	"bytes"

	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/layout"
)

// Topology is the listing of the graph.
type Topology struct {
	Kind string `json:"kind"`
}

func listing(g *topology.Graph) ([]byte, error) {
	var b bytes.Buffer
	err := layout.WriteJSON(&b, g)
	return b.Bytes(), err
}
