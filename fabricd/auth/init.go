package auth

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/safefile"
)

// Options say what Init makes. Fabric and Dir are required.
type Options struct {
	Fabric string
	Dir    string
	Hosts  []Host // none: this machine alone, on the loopback
	// CACert and CAKey are paths of an authority of one's own, given together; without, one is
	// made.
	CACert, CAKey string
	// ClientPort and ClusterPort are where servers listen, 0 is NATS's own 4222 and 6222.
	ClientPort, ClusterPort int
	Now                     time.Time // 0: now
}

// Init makes the folder of keys, certificates and configurations of a fabric, and the tokens of its
// API. It never changes one that is there.
func Init(o Options) (d *Dir, tokens []NewToken, err error) {
	if err := o.complete(); err != nil {
		return nil, nil, err
	}
	if _, err := safefile.Folder(o.Dir); err != nil {
		return nil, nil, fmt.Errorf("folder of keys: %w", err)
	}
	if d, err = hold(o.Dir); err != nil {
		return nil, nil, err
	}
	if _, err := os.Stat(d.file(stateFile)); err == nil {
		return nil, nil,
			errors.Join(fmt.Errorf("%s holds the keys of a fabric already: rotate them with fabricd auth rotate, or give "+
				"another folder", o.Dir), d.Close())
	}
	if tokens, err = d.make(o); err != nil {
		return nil, nil, errors.Join(err, d.Close())
	}
	return d, tokens, nil
}

func (o *Options) complete() error {
	if err := bus.ValidateFabric(o.Fabric); err != nil {
		return err
	}
	if (o.CACert == "") != (o.CAKey == "") {
		return errors.New("an authority is a certificate and its key: give both")
	}
	if len(o.Hosts) == 0 {
		o.Hosts = []Host{{"localhost", "127.0.0.1"}}
	}
	seen := map[string]bool{}
	for _, h := range o.Hosts {
		if seen[h.Name] {
			return fmt.Errorf("host %s is given twice", h.Name)
		}
		seen[h.Name] = true
	}
	o.ClientPort = cmp.Or(o.ClientPort, 4222)
	o.ClusterPort = cmp.Or(o.ClusterPort, 6222)
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	return nil
}

// make fills the folder; auth.json comes last, so that what was interrupted is made anew.
func (d *Dir) make(o Options) ([]NewToken, error) {
	var operator, system, account, signer, systemSigner, leader bus.Key
	for _, k := range []struct {
		to   *bus.Key
		kind bus.KeyKind
		file string // "": nothing is signed with it later
	}{
		{&operator, bus.OperatorKey, operatorKey},
		{&system, bus.AccountKey, ""},
		{&account, bus.AccountKey, ""},
		{&signer, bus.AccountKey, signingKey},
		{&systemSigner, bus.AccountKey, systemKey},
		{&leader, bus.AccountKey, leaderDir + "/" + SignerFile},
	} {
		key, err := bus.NewKey(k.kind)
		if err == nil && k.file != "" {
			err = d.writeKey(k.file, key)
		}
		if err != nil {
			return nil, err
		}
		*k.to = key
	}
	d.state = state{
		Version: stateVersion, Fabric: o.Fabric, Operator: operator.Public, System: system.Public, Account: account.Public,
		Signers: []string{signer.Public, leader.Public}, SystemSigners: []string{systemSigner.Public},
		Hosts: o.Hosts, ClientPort: o.ClientPort, ClusterPort: o.ClusterPort, Rotated: o.Now.UTC().Truncate(time.Second),
	}
	if err := d.users(signer, systemSigner); err != nil {
		return nil, err
	}
	a, err := d.authority(o)
	if err != nil {
		return nil, err
	}
	if _, err := d.certificates(a, o.Now); err != nil {
		return nil, err
	}
	if err := d.configure(); err != nil {
		return nil, err
	}
	var tokens []NewToken
	for _, access := range []Access{View, Operate} {
		t, err := AddToken(d.file(leaderDir+"/"+TokensFile), access.String(), access)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
	}
	return tokens, d.save()
}

// authority is that which is given, or a new one, whose key is kept.
func (d *Dir) authority(o Options) (a authority, err error) {
	if o.CACert == "" {
		var key []byte
		if a, key, err = newAuthority(o.Fabric, o.Now); err != nil {
			return a, err
		}
		return a, d.write(authorityKey, key)
	}
	return readAuthority(o.CACert, o.CAKey, o.Now)
}
