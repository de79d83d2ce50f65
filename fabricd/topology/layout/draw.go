package layout

import (
	"bufio"
	"fmt"

	"github.com/weft-fabric/weft/fabricd/topology"
)

// Options says what a drawing in a file shows.
type Options struct {
	NICs bool // the NICs too
}

// shown reports whether a link is drawn.
func (o Options) shown(l topology.Link) bool { return o.NICs || l.BetweenSwitches() }

func flushed(out *bufio.Writer, form string) error {
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write topology as %s: %w", form, err)
	}
	return nil
}
