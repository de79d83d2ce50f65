package ibd

import (
	"fmt"
	"strings"

	"github.com/weft-fabric/weft/fabricd/subnet/survey"
)

// mostNamed bounds the channels of a cycle that are named; chosen by us.
const mostNamed = 8

// lookForCycle has the operator told once if packets can wait for each other for ever by the tables
// that are written and the paths of NICs: again when a manager has written some by which they
// cannot, and then others.
func (d *Driver) lookForCycle() {
	if d.looking {
		d.lookAgain = true
		return
	}
	d.looking = true
	g, found := d.cfg.Fabric.Topology(), d.subnet.Dependencies()
	d.running.Go(func() {
		text := ""
		if !found.Acyclic() {
			list := survey.NamesOf(g, found.Cycle())
			var names []string
			for _, c := range list[:min(len(list), mostNamed)] {
				names = append(names, c.Name)
			}
			if more := len(list) - len(names); more > 0 {
				names = append(names, fmt.Sprintf("%d more", more))
			}
			text = "tables can deadlock: packets can wait for each other in " + strings.Join(names, ", ")
		}
		d.post(func() {
			if text != "" && d.cycle == "" {
				d.cfg.Note(text)
			}
			again := d.lookAgain
			d.cycle, d.looking, d.lookAgain = text, false, false
			if again {
				d.lookForCycle()
			}
		})
	})
}
