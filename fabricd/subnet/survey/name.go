package survey

import (
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Channel is a channel by the names of its ends.
type Channel struct {
	Name   string      `json:"name" yaml:"name"` // s3->s7 vc1, of parallel links s3:4->s7:2 vc1
	From   string      `json:"from" yaml:"from"`
	Port   weft.PortID `json:"port" yaml:"port"`
	To     string      `json:"to" yaml:"to"`
	ToPort weft.PortID `json:"to_port" yaml:"to_port"`
	VC     weft.VC     `json:"vc" yaml:"vc"`
}

// NameOf names a channel of g. One whose port is not connected leads to nothing.
func NameOf(g *topology.Graph, c layered.Channel) Channel {
	n := Channel{From: g.Name(c.From.Node), Port: c.From.Port, VC: c.Layer}
	to, link, ok := g.Peer(c.From)
	if !ok {
		n.Name = fmt.Sprintf("%s:%d->? vc%d", n.From, n.Port, n.VC)
		return n
	}
	n.To, n.ToPort = g.Name(to.Node), to.Port
	n.Name = fmt.Sprintf("%s->%s vc%d", n.From, n.To, n.VC)
	if one, err := g.LinkBetween(n.From, n.To); err != nil || one.ID != link {
		n.Name = fmt.Sprintf("%s:%d->%s:%d vc%d", n.From, n.Port, n.To, n.ToPort, n.VC)
	}
	return n
}

// NamesOf names channels of g.
func NamesOf(g *topology.Graph, list []layered.Channel) []Channel {
	names := make([]Channel, len(list))
	for i, c := range list {
		names[i] = NameOf(g, c)
	}
	return names
}
