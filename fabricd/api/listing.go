package api

import (
	"bytes"

	"github.com/weft-fabric/weft/fabricd/topology"
)

// Topology is the listing of the graph.
type Topology struct {
	Kind string `json:"kind"`
}

func listing(g *topology.Graph) ([]byte, error) {
	var b bytes.Buffer
	err := g.WriteJSON(&b)
	return b.Bytes(), err
}
