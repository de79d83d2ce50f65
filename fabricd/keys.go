package main

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/weft-fabric/weft/fabricd/auth"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/host/remote"
)

// keys are those of the folder of --auth, which are renewed while the process runs. The zero value
// has none.
type keys struct {
	folder  *auth.Folder // nil: there is none
	renewal *bus.Server
	fabric  atomic.Pointer[fabric.Fabric] // whose hosts get new credentials in turn; nil: none
}

// open lets fabricd auth rotate renew the credentials, if they are those of a folder that it has
// made. Without a name the fabric is that which they are of.
func (k *keys) open(server bus.Resolved, name string, log *slog.Logger) (err error) {
	if k.folder, err = auth.Use(server, name); err != nil || k.folder == nil {
		return err
	}
	k.renewal, err = k.folder.KeepRenewed(k.took, func(err error) { log.Warn("credentials", "err", err) })
	return err
}

// leads says of which fabric the hosts are to get new credentials with the leader; nil: this
// process leads none any more.
func (k *keys) leads(f *fabric.Fabric) { k.fabric.Store(f) }

func (k *keys) took(ctx context.Context, t *bus.Taken) {
	if k.folder.Issuer() == nil {
		return
	}
	if f := k.fabric.Load(); f != nil {
		t.Hosts, t.Missed = f.RenewHosts(ctx)
	} else {
		t.StandsBy = true
	}
}

func (k *keys) close() {
	if k.renewal != nil {
		_ = k.renewal.Close() // it says nothing
	}
}

// authorizer makes credentials of hosts: our broker, or who leads where servers trust its account;
// nil where neither is.
func (l *links) authorizer() remote.Authorizer {
	switch {
	case l.broker != nil:
		return l.broker
	case l.folder.Issuer() != nil:
		return l.folder.Issuer()
	}
	return nil
}
