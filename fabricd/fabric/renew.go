package fabric

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weft-fabric/weft/fabricd/host"
)

// RenewHosts gives new credentials to all hosts that run, switches that are processes included. It
// returns how many have them now, and for each other host why not, in the order of names. A host
// that is lost gets credentials when it is hosted again.
func (ad *admissions) RenewHosts(ctx context.Context) (renewed int, missed []string) {
	var mu sync.Mutex // of what is counted
	_ = each(ctx, ad.remoteHosts(), func(ctx context.Context, h *hostState) error {
		if h.failed.Load() {
			return nil
		}
		err := ad.opts.Processes.Hosts.Renew(ctx, &host.Spec{
			Host: h.name, Placement: h.placement,
			Placements: ad.placements,
		}, ad.graph)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			missed = append(missed, fmt.Sprintf("%s: %v", h.name, err))
		} else {
			renewed++
		}
		return nil
	})
	ad.renewed.Store(time.Now().UnixNano())
	for _, h := range *ad.hosts.Load() {
		h.nextAdmission.Store(nil) // made before, and not used yet
	}
	slices.Sort(missed)
	return renewed, missed
}

// renewing reports whether hosts have just got new credentials. The old ones are then revoked and
// all connections are opened again, ours perhaps before theirs, so no host counts as lost.
func (ad *admissions) renewing() bool {
	return time.Since(time.Unix(0, ad.renewed.Load())) < afterBroker
}
