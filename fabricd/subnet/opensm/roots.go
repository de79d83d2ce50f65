package opensm

import (
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// ReadRoots reads a file of roots (opensm -a), the GUID of a switch on each line. Errors have the
// line.
func ReadRoots(g *topology.Graph, f File) ([]weft.SwitchID, error) {
	var roots []weft.SwitchID
	in, known := linesOf(f), nodesOf(g)
	for in.next() {
		text, _, _ := strings.Cut(in.text, "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		id, ok := guid(text)
		if !ok {
			return nil, in.fail("found %q, expected the GUID of a switch as 0x0000000000200000", clip(text))
		}
		n, ok := known.byGUID[id]
		if !ok || !n.IsSwitch() {
			return nil, in.fail("%w", known.unknown("switch", id))
		}
		roots = append(roots, weft.SwitchID(n.Index))
	}
	return roots, in.err()
}
