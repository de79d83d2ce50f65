package up

import (
	"errors"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/fabric"
)

// judged is how a fabric ends whose ledger was read after drained: nil only when that ledger was
// exact and balances. Packets that are left and do not move are in the ledger, as in flight, so
// they do not make it inexact; packets that still move do.
func judged(l fabric.Ledger, drained error) error {
	_, stuck := errors.AsType[*fabric.StuckError](drained)
	if !l.Balanced || drained != nil && !stuck {
		return command.ErrFailed // what was printed shows it
	}
	return nil
}
