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
	fabric  atomic.Pointer[fabric.Fabric] // whose hosts get new credentials in turn; nil: none
}

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
func (k *Keys) Leads(f *fabric.Fabric) { k.fabric.Store(f) }

func (k *Keys) took(ctx context.Context, t *bus.Taken) {
	if k.Folder.Issuer() == nil {
		return
	}
	if f := k.fabric.Load(); f != nil {
		t.Hosts, t.Missed = f.RenewHosts(ctx)
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
