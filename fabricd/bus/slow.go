package bus

import (
	"math"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

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
			list, err := b.srv.Connz(&server.ConnzOptions{
				Username: true, User: role.String(), Account: root,
				Limit: math.MaxInt32,
			})
			if err != nil {
				continue // it is being shut down
			}
			for _, c := range list.Conns {
				if c.Pending > maxBehindBytes {
					_ = b.srv.DisconnectClientByID(c.Cid) // it may be gone by itself
				}
			}
		}
	}
}
