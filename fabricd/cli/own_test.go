package cli_test

import (
	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/fabricd/subnet"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// withOurs is the command of ours; fabricd knows its firmware from then on in this process.
func withOurs() *cobra.Command {
	if !subnet.Known("around") {
		if err := subnet.Add(subnet.Of(around)); err != nil {
			panic(err)
		}
	}
	return cli.Command()
}

// ours is fabricd with a firmware of another module; script/own.txtar has it do what fabricd does.
func ours() { cli.Main(cli.Firmware(around)) }

// around is a firmware for rings: packets go one way round it, and change to virtual channel 1
// where they pass a switch, so that they do not wait for each other in a circle.
func around() switching.Firmware {
	a := ringWay{}
	return switching.Firmware{
		Name: "around", About: "rings: always the same way round", On: switching.Grids, VCs: 2, Route: a.route,
		DestinationBased: true,
		Options: []firmware.Option{
			switching.Word("way", "which way packets go round", &a.back, "on", "back"),
			switching.Number("dateline", "at which switch they change to virtual channel 1", 0, 100, &a.dateline),
		},
	}
}

type ringWay struct{ back, dateline int }

func (a *ringWay) route(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	here, vc := int(sw.Place().Switch), at.VC
	if here == int(pkt.Dst) {
		return switching.To(sw, 2, 0, pkt.Fields, "deliver")
	}
	if here == a.dateline {
		vc = 1
	}
	out := weft.PortID(1 - a.back)
	if !sw.PortUp(out) {
		return switching.Discard("the link is dead")
	}
	return switching.To(sw, out, vc, pkt.Fields, [...]string{"on", "back"}[a.back])
}
