package bus

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/nats-io/jwt/v2"

	"github.com/weft-fabric/weft/fabricd/safefile"
)

// Identity is the token of a process and its secret key. Both can be replaced while connections
// last: a connection uses the newest when it is opened, and when it is opened again. The secret
// never leaves the process: the process offers the public half of a new key, and takes a token for
// that. Methods may be called concurrently.
//
// An Identity of a .creds file writes the new token and key there, where all processes that use the
// file find them. An Identity without a file, as that of a host, serves the connections that are
// made with its own [Identity.Credentials].
type Identity struct {
	path string // of the .creds file; empty: it is kept in none

	mu   sync.Mutex
	now  held // guarded by mu
	next Key  // guarded by mu: offered and not yet taken
}

type held struct {
	token, user string
	key         Key
}

// OpenIdentity reads a .creds file, to which new credentials are written, too. It refuses one that
// others can read or replace.
func OpenIdentity(path string) (*Identity, error) {
	text, err := safefile.ReadSecret(path)
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	token, err := jwt.ParseDecoratedJWT(text)
	if err != nil {
		return nil, fmt.Errorf("credentials %s: %w: it is no .creds file", path, ErrToken)
	}
	pair, err := jwt.ParseDecoratedUserNKey(text)
	if err != nil {
		return nil, fmt.Errorf("credentials %s: %w: there is no key of a user in it", path, ErrToken)
	}
	key, err := keyOf(pair)
	if err != nil {
		return nil, err
	}
	i := &Identity{path: path}
	if err := i.hold(token, key); err != nil {
		return nil, fmt.Errorf("credentials %s: %w", path, err)
	}
	return i, nil
}

// reread takes what is in the file now: somebody may have copied newer ones there.
func (i *Identity) reread() error {
	if i.path == "" {
		return nil
	}
	now, err := OpenIdentity(i.path)
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.now = now.now
	return nil
}

// HostCredentials are those of the process of a host: the identity that the leader gave it,
// and all else as its host connects. A leader gives none on servers whose owner says who may do
// what: the credentials are those of the host then. The caller serves the identity, unless it is
// nil.
func HostCredentials(own, host Credentials) (Credentials, *Identity, error) {
	switch {
	case own == (Credentials{}):
		return host, nil, nil
	case own.JWT == "": // a password of a broker of ours; the leader does not know where the host keeps its certificates
		own.TLSCA, own.TLSCert, own.TLSKey, own.TLSFirst, own.Timeout = host.TLSCA, host.TLSCert, host.TLSKey,
			host.TLSFirst, host.Timeout
		return own, nil, nil
	}
	i := &Identity{}
	if err := i.hold(own.JWT, Key{Seed: []byte(own.Seed)}); err != nil {
		return own, nil, fmt.Errorf("bus: credentials of %v: %w", own, err)
	}
	c := i.Credentials(host)
	c.InboxPrefix = ""
	return c, i, nil
}

// hold makes a token and the key it is for those in use. The caller holds mu, or nobody else has i.
func (i *Identity) hold(token string, key Key) error {
	claims, err := jwt.DecodeUserClaims(token)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrToken, err)
	}
	pair, err := key.pair()
	if err != nil {
		return err
	}
	if key, err = keyOf(pair); err != nil {
		return err
	}
	if claims.Subject != key.Public {
		return fmt.Errorf("%w: the token of %s is for the key %s and not for %s", ErrToken, claims.Name, claims.Subject,
			key.Public)
	}
	i.now = held{token, claims.Name, key}
	return nil
}

func (i *Identity) current() held {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.now
}

// User is its name.
func (i *Identity) User() string { return i.current().user }

// Fabric is that in which it may be renewed, "" where it may not.
func (i *Identity) Fabric() string {
	claims, err := jwt.DecodeUserClaims(i.current().token)
	if err != nil {
		return ""
	}
	for _, subject := range claims.Sub.Allow {
		if fabric, _, ok := strings.Cut(strings.TrimPrefix(subject, root+"."), ".auth."); ok {
			return fabric
		}
	}
	return ""
}

// Credentials are c, with who connects replaced by i.
func (i *Identity) Credentials(c Credentials) Credentials {
	c.User, c.Password, c.NKeyFile, c.Token, c.JWT, c.Seed = "", "", "", "", "", ""
	if c.CredsFile = i.path; i.path == "" {
		c.identity = i
	}
	return c
}

// token and sign are what nats.go asks for at each connect.
func (i *Identity) token() (string, error) { return i.current().token, nil }

func (i *Identity) sign(nonce []byte) ([]byte, error) {
	pair, err := i.current().key.pair()
	if err != nil {
		return nil, err
	}
	defer pair.Wipe()
	return pair.Sign(nonce)
}

// Offer is the request of a process for new credentials. It holds no secret.
type Offer struct {
	Token  string `json:"token"`            // that it has
	Public string `json:"public"`           // the key that it wants one for
	Signer string `json:"signer,omitempty"` // and a key that it would sign others' with, of who may
	ID     string `json:"id,omitempty"`     // of the process, where several have the same user
}

// Offer draws a new key. An offer made before is void.
func (i *Identity) Offer() (Offer, error) {
	key, err := NewKey(UserKey)
	if err == nil {
		err = i.reread()
	}
	if err != nil {
		return Offer{}, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.next = key
	return Offer{Token: i.now.token, Public: key.Public}, nil
}

// Taken is the answer of a process that has taken new credentials.
type Taken struct {
	// StandsBy says that it leads no fabric, though it might.
	StandsBy bool `json:"stands_by,omitempty"`
	// Hosts are as many as have got new credentials in turn, and Missed those that have not, each
	// with why.
	Hosts  int      `json:"hosts,omitempty"`
	Parts  int      `json:"parts,omitempty"` // the same as Hosts, under its old name: until 0.2.0
	Missed []string `json:"missed,omitempty"`
}

// Take makes the token for the key of the latest offer the one to connect with. When it cannot be
// written to the file nothing changes.
func (i *Identity) Take(token string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.next.Public == "" {
		return fmt.Errorf("%w: no new key was offered", ErrToken)
	}
	was := i.now
	if err := i.hold(token, i.next); err != nil {
		return err
	}
	if err := i.save(was); err != nil {
		i.now = was
		return err
	}
	i.next = Key{}
	return nil
}

// save writes what is held to the file, if it is that of the same user. The caller holds mu.
func (i *Identity) save(was held) error {
	if i.now.user != was.user {
		return fmt.Errorf("%w: the token is that of %s and not of %s", ErrToken, i.now.user, was.user)
	}
	if i.path == "" {
		return nil
	}
	text, err := CredsFile(i.now.token, i.now.key)
	if err != nil {
		return err
	}
	return safefile.WriteSecret(i.path, text)
}

// The verbs by which who leads renews the credentials of a host.
const (
	verbOffer = "auth.offer"
	verbTake  = "auth.take"
)

// take is how a token travels.
type take struct {
	Token string `json:"token"`
}

// Serve lets who leads the fabric renew the credentials of a host, of which s is the side that is
// asked. It does nothing when i is nil.
func (i *Identity) Serve(s *Server) error {
	if i == nil {
		return nil
	}
	if err := Handle(s, Subject{Kind: SubjectSwitch, Verb: verbOffer},
		func(context.Context, struct{}) (Offer, error) { return i.Offer() }); err != nil {
		return err
	}
	return Handle(s, Subject{Kind: SubjectSwitch, Verb: verbTake},
		func(_ context.Context, t take) (any, error) { return nil, i.Take(t.Token) })
}
