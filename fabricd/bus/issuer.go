package bus

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/jwt/v2"

	"github.com/weft-fabric/weft/fabricd/safefile"
)

// Issuer makes credentials for the hosts of a fabric on servers that trust its account: it signs
// tokens with a key of the account. It is for who leads. Methods may be called concurrently.
//
// Credentials that it has issued hold until the key that signed them is taken out of the account,
// as fabricd auth rotate does, or the user's key is revoked. They do not expire: a fabric goes on
// while nobody leads it, for however long.
type Issuer struct {
	fabric, account string

	mu     sync.Mutex
	signer Key // guarded by mu
	next   Key // guarded by mu: offered and not yet in force
}

// NewIssuer signs for the account of who leads, with a key of that account.
func NewIssuer(fabric string, leader *Identity, signer Key) (*Issuer, error) {
	if err := ValidateFabric(fabric); err != nil {
		return nil, err
	}
	claims, err := jwt.DecodeUserClaims(leader.current().token)
	if err != nil {
		return nil, fmt.Errorf("bus: issuer of fabric %q: %w: %w", fabric, ErrToken, err)
	}
	if _, err := signer.pair(); err != nil {
		return nil, fmt.Errorf("bus: issuer of fabric %q: %w", fabric, err)
	}
	return &Issuer{fabric: fabric, account: claims.IssuerAccount, signer: signer}, nil
}

// Admit makes credentials with which a process can be one host of the fabric, or one switch, as
// [Broker.Admit] does.
func (i *Issuer) Admit(a Access) (Credentials, error) {
	if err := a.validate(); err != nil {
		return Credentials{}, fmt.Errorf("bus: admit %q to fabric %q: %w", a.name(), i.fabric, err)
	}
	name := userOf(a)
	user, err := NewKey(UserKey)
	if err != nil {
		return Credentials{}, err
	}
	i.mu.Lock()
	signer := i.signer
	i.mu.Unlock()
	c := Credentials{InboxPrefix: inboxOf(name), Seed: string(user.Seed)}
	if c.JWT, err = userToken(signer, i.account, user.Public, name,
		a.grant(i.fabric).withInbox(c.InboxPrefix)); err != nil {
		return Credentials{}, err
	}
	return c, nil
}

// Revoke keeps nobody out by itself: servers ask the operator's key for that, which who leads does
// not have. The user is let in until the next rotation, or until fabricd auth revoke; what it may
// do is no more than the host that it was could.
func (i *Issuer) Revoke(string) {}

// Offer draws the next key to sign with.
func (i *Issuer) Offer() (public string, err error) {
	key, err := NewKey(AccountKey)
	if err != nil {
		return "", err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.next = key
	return key.Public, nil
}

// Take signs with the key of the latest offer from now on, and writes it to a file unless path is
// empty. When that fails nothing changes.
func (i *Issuer) Take(path string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.next.Public == "" {
		return nil
	}
	if path != "" {
		if err := safefile.WriteSecret(path, append(slices.Clone(i.next.Seed), '\n')); err != nil {
			return err
		}
	}
	i.signer, i.next = i.next, Key{}
	return nil
}

// RenewHost is a token for the key that a host offers, with the rights that a has. Who has led
// before may have signed the token it shows, whose name alone is taken over, since the host hears
// answers there.
func (i *Issuer) RenewHost(a Access, o Offer) (string, error) {
	if err := a.validate(); err != nil {
		return "", fmt.Errorf("bus: renew host %q of fabric %q: %w", a.name(), i.fabric, err)
	}
	was, err := jwt.DecodeUserClaims(o.Token)
	if err != nil {
		return "", fmt.Errorf("bus: renew host %s: %w: %w", a.name(), ErrToken, err)
	}
	if random, ok := strings.CutPrefix(was.Name, a.prefix()); !ok || len(random) != nonceLen || !alphanumeric(random) {
		return "", fmt.Errorf("bus: renew host %s: %w: it says that it is %.80q", a.name(), ErrToken, was.Name)
	}
	i.mu.Lock()
	signer := i.signer
	i.mu.Unlock()
	return userToken(signer, i.account, o.Public, was.Name, a.grant(i.fabric).withInbox(inboxOf(was.Name)))
}

// RenewHost gives the process of a host new credentials, made by i.
func (c *Client) RenewHost(ctx context.Context, a Access, i *Issuer) error {
	o, err := Call[Offer](ctx, c, Subject{Kind: SubjectSwitch, Node: a.name(), Verb: verbOffer}, nil)
	if err != nil {
		return err
	}
	token, err := i.RenewHost(a, o)
	if err != nil {
		return err
	}
	_, err = Call[struct{}](ctx, c, Subject{Kind: SubjectSwitch, Node: a.name(), Verb: verbTake}, take{token})
	return err
}
