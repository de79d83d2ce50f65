package lead

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/weft-fabric/weft/fabricd/auth"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/host/remote"
)

// Keys are those of the folder of --auth, which are renewed while the process runs. The zero value
// has none.
type Keys struct {
	Folder  *auth.Folder // nil: there is none
	renewal *bus.Server
	renew   atomic.Pointer[renewHosts] // for the fabric that this process leads; nil: it leads none
}

// renewHosts gives hosts new credentials: [fabric.Fabric.RenewHosts].
type renewHosts func(context.Context) (renewed int, missed []string)

// Open lets fabricd auth rotate renew the credentials, if they are those of a folder that it has
// made. Without a name the fabric is that which they are of.
func (k *Keys) Open(server bus.Resolved, name string, log *slog.Logger) (err error) {
	if k.Folder, err = auth.Use(server, name); err != nil || k.Folder == nil {
		return err
	}
	k.renewal, err = k.Folder.KeepRenewed(k.took, func(err error) { log.Warn("credentials", "err", err) })
	return err
}

// Leads says of which fabric the hosts are to get new credentials with the leader; nil: this
// process leads none any more.
func (k *Keys) Leads(f *fabric.Fabric) {
	if f == nil {
		k.renew.Store(nil)
		return
	}
	k.renew.Store(new(renewHosts(f.RenewHosts)))
}

func (k *Keys) took(ctx context.Context, t *bus.Taken) {
	if k.Folder.Issuer() == nil {
		return
	}
	if renew := k.renew.Load(); renew != nil {
		t.Hosts, t.Missed = (*renew)(ctx)
	} else {
		t.StandsBy = true
	}
}

// Close ends the renewal, if there is one.
func (k *Keys) Close() {
	if k.renewal != nil {
		_ = k.renewal.Close() // it says nothing
	}
}

// Authorizer makes credentials of hosts: our broker, or who leads where servers trust its account;
// nil where neither is.
func (b *Broker) Authorizer() remote.Authorizer {
	switch {
	case b.Embedded != nil:
		return b.Embedded
	case b.Folder.Issuer() != nil:
		return b.Folder.Issuer()
	}
	return nil
}
