package bus

import "time"

// Whoever listens to links and does not read makes the broker queue what it sends, and slow those
// who send when that is much. Its connection is closed well before; it may connect again. Chosen by
// us: a second of a busy fabric, which is some 30 MB, and what looking costs.
const (
	maxBehindBytes = 32 << 20
	lookEvery      = 100 * time.Millisecond
)

// dropSlow closes the connections of operators and viewers that fall behind, until Shutdown.
func (b *Broker) dropSlow() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-b.ending:
			return
		case <-tick.C:
		}
		for _, role := range []Role{RoleOperator, RoleViewer} {
			for _, c := range b.server.connections(role.String()) {
				if c.pending > maxBehindBytes {
					_ = b.server.DisconnectClientByID(c.id) // it may be gone by itself
				}
			}
		}
	}
}
