package auth

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weft-fabric/weft/fabricd/bus"
)

// Folder is one of those that Init makes for who runs something, as its process uses it: leader,
// that of a host or of a manager.
type Folder struct {
	path     string
	resolved bus.Resolved
	fabric   string
	identity *bus.Identity
	issuer   *bus.Issuer
}

// Use opens the folder that --auth names, for a process that runs for long; nil when it names none.
// The fabric is that which the credentials are of when it is not named, as for an agent.
func Use(r bus.Resolved, fabric string) (*Folder, error) {
	if r.Folder == "" {
		return nil, nil
	}
	f := &Folder{path: r.Folder, resolved: r}
	var err error
	if f.identity, err = bus.OpenIdentity(r.Credentials.CredsFile); err != nil {
		return nil, err
	}
	if f.fabric = fabric; fabric == "" {
		f.fabric = f.identity.Fabric()
	}
	if f.Signer() == "" {
		return f, nil
	}
	signer, err := bus.ReadKey(f.Signer())
	if err != nil {
		return nil, fmt.Errorf("folder of who leads: %w", err)
	}
	f.issuer, err = bus.NewIssuer(f.fabric, f.identity, signer)
	return f, err
}

// there is the path of a file if there is one.
func (f *Folder) there(name string) string {
	if f == nil {
		return ""
	}
	path := filepath.Join(f.path, name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// Signer is the file of the key with which who leads signs; like the others below, "" where there
// is no such file.
func (f *Folder) Signer() string { return f.there(SignerFile) }

// Tokens is the file of tokens of the HTTP API.
func (f *Folder) Tokens() string { return f.there(TokensFile) }

// CertFile is a certificate for the HTTP side.
func (f *Folder) CertFile() string { return f.there(certFile) }

// KeyFile is its key.
func (f *Folder) KeyFile() string { return f.there(certKeyFile) }

// Issuer makes credentials of hosts; nil unless it is the folder of who leads.
func (f *Folder) Issuer() *bus.Issuer {
	if f == nil {
		return nil
	}
	return f.issuer
}

// KeepRenewed lets fabricd auth rotate renew the credentials while the process runs, until the
// renewal is closed. Took is called when new ones are in force, before the old ones are revoked; it
// may be nil. Errors of the connection are told to onError, which may be nil.
func (f *Folder) KeepRenewed(took func(context.Context, *bus.Taken), onError func(error)) (*bus.Server, error) {
	return bus.KeepRenewed(bus.RenewalConfig{
		Fabric: f.fabric, URL: f.resolved.URL, Credentials: f.resolved.Credentials, Identity: f.identity,
		Issuer: f.issuer, SignerFile: f.Signer(), Took: took, OnError: onError,
	})
}
