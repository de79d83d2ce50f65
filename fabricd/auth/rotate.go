package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/weft-fabric/weft/fabricd/bus"
)

// ErrNoLeader means that nobody leads the fabric who could give its hosts new credentials.
var ErrNoLeader = errors.New("nobody leads the fabric: the old credentials of its hosts would be revoked and nobody " +
	"could make new ones")

// RotateOptions say how. The zero value is for a cluster that is whole.
type RotateOptions struct {
	URL   string // of a server; empty: those of the hosts
	Force bool   // also when somebody who runs gets no new credentials, and loses its connections
	// Wait is how long to wait for an answer of a server or process that may be there or not; 0 is
	// 2 s.
	Wait time.Duration
	Tell func(string) // what is done, a sentence each; nil: nobody
	Now  time.Time    // 0: now
}

// Renewed is one process that has got new credentials.
type Renewed struct {
	User   string   `json:"user"`
	Hosts  int      `json:"hosts,omitempty"`  // of a leader: as many hosts have got theirs from it
	Parts  int      `json:"parts,omitempty"`  // the same, under its old name: until 0.2.0
	Missed []string `json:"missed,omitempty"` // those that have not, each with why
	// StandsBy says that it could lead the fabric and does not.
	StandsBy bool `json:"stands_by,omitempty"`
}

// Rotated is what came of a rotation.
type Rotated struct {
	Servers []string  `json:"servers"` // that know of it
	Away    []string  `json:"away"`    // that will hear of it from the others
	Renewed []Renewed `json:"renewed"`
	// folders to copy again to where they are used, for no process there took its credentials
	Copy []string `json:"copy"`
	// folders with a new certificate: copy them and have the server reload (nats-server --signal
	// reload)
	Certificates []string `json:"certificates"`
}

// Rotate makes new signing keys and credentials, gives them to the processes that run, and then has
// the servers take no old ones any more. The fabric goes on: connections are opened again, links
// lose and get signal. It can be repeated when it was interrupted: until its last step old and new
// credentials hold.
func (d *Dir) Rotate(ctx context.Context, o RotateOptions) (out Rotated, err error) {
	o.complete(d)
	r := rotation{
		Dir: d, o: o,
		out: Rotated{Servers: []string{}, Away: []string{}, Renewed: []Renewed{}, Copy: []string{}, Certificates: []string{}},
	}
	if err := errors.Join(r.renewCertificates(), r.draw()); err != nil {
		return r.out, err
	}
	if err := r.allowBoth(ctx); err != nil {
		return r.out, err
	}
	if err := r.renewAll(ctx); err != nil {
		return r.out, err
	}
	if err := r.replaceFiles(); err != nil {
		return r.out, err
	}
	return r.out, r.revokeOld(ctx)
}

func (o *RotateOptions) complete(d *Dir) {
	if o.URL == "" {
		o.URL = d.URL()
	}
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	o.Wait = cmp.Or(o.Wait, 2*time.Second)
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
}

// rotation is one that is under way.
type rotation struct {
	*Dir
	o   RotateOptions
	out Rotated

	signer, system, leader bus.Key             // the new ones
	running                []string            // keys with which leaders that run sign from now on
	users                  map[string][]string // keys of users given to processes that run
}

// draw makes the new keys.
func (r *rotation) draw() (err error) {
	r.users = map[string][]string{}
	for _, k := range []*bus.Key{&r.signer, &r.system, &r.leader} {
		if *k, err = bus.NewKey(bus.AccountKey); err != nil {
			return err
		}
	}
	return nil
}

// renewCertificates makes those anew that are aged, before a server is asked: it may be for one
// that has expired that none can be reached. Those of an authority of one's own are its owner's to
// renew. Our own authority is replaced once it has expired, when nothing trusts it any more.
func (r *rotation) renewCertificates() error {
	if _, err := os.Stat(r.file(authorityKey)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	a, err := readAuthority(r.file(caFile), r.file(authorityKey), r.o.Now)
	if errors.Is(err, errExpired) {
		var key []byte
		if a, key, err = newAuthority(r.Fabric, r.o.Now); err == nil {
			err = r.write(authorityKey, key)
		}
	}
	if err != nil {
		return err
	}
	made, err := r.certificates(a, r.o.Now)
	r.out.Certificates = append(r.out.Certificates, made...)
	return err
}

// allowBoth has servers let in users that the new keys have signed, too.
func (r *rotation) allowBoth(ctx context.Context) error {
	r.Signers = append(r.Signers, r.signer.Public, r.leader.Public)
	r.SystemSigners = append(r.SystemSigners, r.system.Public)
	if err := r.save(); err != nil { // before a server knows: what is not written down is not taken back
		return err
	}
	took, err := r.push(ctx)
	if err != nil && len(r.out.Certificates) > 0 { // it may be for the old ones that no server can be reached
		return fmt.Errorf("%w; there are new certificates now in %s: copy them, have the servers reload (nats-server "+
			"--signal reload), and rotate again",
			err, strings.Join(r.out.Certificates, ", "))
	}
	if err != nil {
		return err
	}
	r.o.Tell(fmt.Sprintf("%s let in who has the old or the new credentials", servers(took)))
	return nil
}

func servers(names []string) string {
	if len(names) == 1 {
		return "server " + names[0]
	}
	return fmt.Sprintf("%d servers", len(names))
}

// push tells all servers of both accounts as they are now.
func (d *Dir) push(ctx context.Context, o RotateOptions) (took []string, err error) {
	system, account, err := d.tokens()
	if err != nil {
		return nil, err
	}
	cfg := bus.PushConfig{
		URL: o.URL, Servers: len(d.Hosts), Wait: o.Wait,
		Credentials: bus.Credentials{CredsFile: d.file(systemCreds), TLSCA: d.file(caFile)},
	}
	// The fabric's first: the second may end our own connection.
	if took, err = bus.PushAccount(ctx, cfg, account); err != nil {
		return took, err
	}
	_, err = bus.PushAccount(ctx, cfg, system)
	return took, err
}

func (r *rotation) push(ctx context.Context) ([]string, error) { return r.Dir.push(ctx, r.o) }

// asked is a process that has offered a key.
type asked struct {
	user  string
	role  bus.Role
	host  string // of an agent
	offer bus.Offer
}

// renewAll gives new credentials to all processes that run.
func (r *rotation) renewAll(ctx context.Context) error {
	renewer, err := bus.Dial(bus.ClientConfig{
		Leads: true, Fabric: r.Fabric, URL: r.o.URL,
		Credentials: bus.Credentials{CredsFile: r.file(renewerCreds), TLSCA: r.file(caFile)}, Program: "renewer",
	})
	if err != nil {
		return err
	}
	defer func() { _ = renewer.Close() }()
	all, err := r.ask(ctx, renewer)
	if err != nil {
		return err
	}
	if !r.o.Force && !slices.ContainsFunc(all, func(a asked) bool { return a.role == bus.RoleFabric }) {
		return fmt.Errorf("%w: start one with fabricd up --fabric %s, or give --force when nothing runs", ErrNoLeader,
			r.Fabric)
	}
	if len(r.running) > 0 { // before they sign with them
		r.Signers = append(r.Signers, r.running...)
		if err := r.save(); err != nil {
			return err
		}
		if _, err := r.push(ctx); err != nil {
			return err
		}
	}
	var bad []string
	leads := false
	for _, a := range all {
		done, err := r.give(ctx, renewer, a)
		leads = leads || err == nil && a.role == bus.RoleFabric && !done.StandsBy
		if err != nil {
			bad = append(bad, fmt.Sprintf("%s: %v", a.user, err))
			continue
		}
		r.out.Renewed = append(r.out.Renewed, done)
		for _, missed := range done.Missed {
			bad = append(bad, "host "+missed)
		}
		r.o.Tell(told(done))
	}
	if !leads && !r.o.Force && len(bad) == 0 {
		return fmt.Errorf("%w: those that are there stand by: the old credentials hold, too; wait until one leads, and try "+
			"again", ErrNoLeader)
	}
	if len(bad) > 0 && !r.o.Force {
		return fmt.Errorf("no new credentials for %s: the old ones hold for everybody, try again, or give --force to let "+
			"those lose their connections", strings.Join(bad, ", "))
	}
	return nil
}

func told(d Renewed) string {
	s := d.User + " has new credentials"
	if d.StandsBy {
		s = d.User + ", which stands by, has new credentials"
	}
	if d.Hosts > 0 {
		s += fmt.Sprintf(", and so have %d hosts", d.Hosts)
	}
	return s
}

// ask finds who runs: leaders last, since they have others to tell. All are asked at once.
func (r *rotation) ask(ctx context.Context, renewer *bus.Client) (all []asked, err error) {
	var who []asked
	for _, role := range []bus.Role{bus.RoleViewer, bus.RoleOperator, bus.RoleManager} {
		who = append(who, asked{user: role.User(""), role: role})
	}
	for _, h := range r.Hosts {
		who = append(who, asked{user: bus.RoleAgent.User(h.Name), role: bus.RoleAgent, host: h.Name})
	}
	who = append(who, asked{user: bus.RoleFabric.User(""), role: bus.RoleFabric})
	type answer struct {
		offers []bus.Offer
		err    error
	}
	answers := make([]chan answer, len(who))
	for i, w := range who {
		answers[i] = make(chan answer, 1)
		go func() { // we wait for it below
			offers, err := renewer.Offers(ctx, w.user, r.o.Wait)
			answers[i] <- answer{offers, err}
		}()
	}
	for i, w := range who {
		a := <-answers[i]
		err = errors.Join(err, a.err)
		for _, offer := range a.offers {
			w.offer = offer
			if err := r.check(w); err != nil {
				return nil, err
			}
			if all = append(all, w); offer.Signer != "" && w.role == bus.RoleFabric {
				r.running = append(r.running, offer.Signer)
			}
		}
		if len(a.offers) == 0 {
			r.notRunning(w)
		}
	}
	return all, err
}

// check refuses an offer of somebody whom this folder did not make credentials for.
func (r *rotation) check(a asked) error {
	name, user, signer, err := bus.ReadUserToken(a.offer.Token)
	switch _, revoked := r.Revoked[user]; {
	case err != nil:
		return fmt.Errorf("offer of %s: %w", a.user, err)
	case name != a.user || !slices.Contains(r.Signers, signer) || revoked:
		return fmt.Errorf("offer of %s: it comes from %s, whose token was signed by %s, no key of this fabric that holds",
			a.user, name, signer)
	}
	return nil
}

// notRunning notes what is to be copied, since nobody was there to take it.
func (r *rotation) notRunning(a asked) {
	folder := map[bus.Role]string{bus.RoleAgent: hostsDir + "/" + a.host, bus.RoleFabric: leaderDir}[a.role]
	if folder != "" {
		r.out.Copy = append(r.out.Copy, folder)
	}
}

func (r *rotation) give(ctx context.Context, renewer *bus.Client, a asked) (Renewed, error) {
	done := Renewed{User: a.user}
	token, err := bus.UserToken(r.signer, r.Account, r.Fabric, a.offer.Public, a.role, a.host)
	if err != nil {
		return done, err
	}
	t, err := renewer.GiveToken(ctx, a.user, a.offer, token)
	if err != nil {
		return done, err
	}
	r.users[a.user] = append(r.users[a.user], a.offer.Public)
	r.note(a.user, a.offer.Public)
	done.Hosts, done.Parts, done.Missed, done.StandsBy = t.Hosts, t.Hosts, t.Missed, t.StandsBy
	return done, nil
}

// replaceFiles makes the new keys and credentials those of the folder.
func (r *rotation) replaceFiles() error {
	for file, key := range map[string]bus.Key{
		signingKey: r.signer, systemKey: r.system,
		leaderDir + "/" + SignerFile: r.leader,
	} {
		if err := r.writeKey(file, key); err != nil {
			return err
		}
	}
	if err := r.Dir.users(r.signer, r.system); err != nil {
		return err
	}
	for user, keys := range r.users {
		r.Users[user] = append(r.Users[user], keys...)
	}
	return r.save()
}

// revokeOld leaves the new keys alone in force: who has other credentials loses its connections.
func (r *rotation) revokeOld(ctx context.Context) error {
	r.Signers = append([]string{r.signer.Public, r.leader.Public}, r.running...)
	r.SystemSigners = []string{r.system.Public}
	clear(r.Revoked) // they were signed by keys that hold no more
	r.Rotated = r.o.Now.UTC().Truncate(time.Second)
	if err := errors.Join(r.configure(), r.save()); err != nil {
		return err
	}
	took, err := r.push(ctx)
	r.out.Servers = append(r.out.Servers, took...)
	for _, h := range r.Hosts {
		if !slices.Contains(took, h.Name) {
			r.out.Away = append(r.out.Away, h.Name)
		}
	}
	if err != nil {
		return err
	}
	r.o.Tell(fmt.Sprintf("%s let in who has the new credentials, and nobody else", servers(took)))
	return nil
}

// Revoke has the servers let in no more who has credentials of a user, given by its name as
// agent-a, or by a public key: those that were made until now.
func (d *Dir) Revoke(ctx context.Context, who string, o RotateOptions) (keys, took []string, err error) {
	o.complete(d)
	keys = d.Users[who]
	if len(keys) == 0 {
		if err := bus.CheckUserKey(who); err != nil {
			return nil, nil, d.unknown(who)
		}
		keys = []string{who}
	}
	if d.Revoked == nil {
		d.Revoked = map[string]time.Time{}
	}
	for _, k := range keys {
		d.Revoked[k] = o.Now
	}
	if err := errors.Join(d.save(), d.configure()); err != nil {
		return keys, nil, err
	}
	took, err = d.push(ctx, o)
	return keys, took, err
}
