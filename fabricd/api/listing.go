package api

import (
	"bytes"

	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/layout"
)

// Topology is the answer to GET /topology, for its description: what fabricd topology generate
// --json prints, with the places of nodes.
type Topology struct {
	Spec     string           `json:"spec,omitempty" jsonschema_description:"As kary-ntree:4,3; none for a file."`
	Kind     string           `json:"kind"`
	Layout   TopologyLayout   `json:"layout"`
	Switches []TopologySwitch `json:"switches"`
	NICs     []TopologyNIC    `json:"nics"`
	Links    []TopologyLink   `json:"links"`
	Pods     []TopologyPod    `json:"pods,omitempty" jsonschema_description:"Of a large fabric: its switches in groups that are looked at as one, see the stream."`
	Bundles  []TopologyBundle `json:"bundles,omitempty" jsonschema_description:"All links between two pods, for every two that have any."`
}

// TopologyLayout is how it is drawn.
type TopologyLayout struct {
	Kind   string  `json:"kind" jsonschema:"enum=tree,enum=grid,enum=planes,enum=ring,enum=free"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
}

// TopologySwitch is a switch in it.
type TopologySwitch struct {
	ID     string  `json:"id"`
	Ports  int     `json:"ports,omitempty"`
	Tier   *int    `json:"tier,omitempty" jsonschema_description:"In a tree, 0 at the top."`
	Digits []int   `json:"digits,omitempty" jsonschema_description:"In a tree."`
	Coord  []int   `json:"coord,omitempty" jsonschema_description:"In a mesh, torus or ring."`
	X      float64 `json:"x" jsonschema_description:"Two neighbouring switches are 1 apart."`
	Y      float64 `json:"y" jsonschema_description:"Grows downwards."`
}

// TopologyNIC is a NIC in it.
type TopologyNIC struct {
	ID         string  `json:"id"`
	Switch     string  `json:"switch"`
	SwitchPort int     `json:"switch_port"`
	X          float64 `json:"x"`
	Y          float64 `json:"y"`
}

// TopologyLink is a link in it.
type TopologyLink struct {
	ID    string  `json:"id"`
	A     string  `json:"a"`
	APort int     `json:"a_port"`
	B     string  `json:"b"`
	BPort int     `json:"b_port"`
	Bend  float64 `json:"bend,omitempty" jsonschema_description:"How far it runs beside the straight way from a to b, to the left of it, from 0.6 after a to 0.6 before b."`
}

func listing(g *topology.Graph, pods *grouping) ([]byte, error) {
	var b bytes.Buffer
	if err := layout.WriteJSON(&b, g); err != nil {
		return nil, err
	}
	return withPods(b.Bytes(), pods)
}
