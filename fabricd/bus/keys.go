package bus

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/weft-fabric/weft/fabricd/safefile"
)

// ErrToken means that a token or key is not what it should be.
var ErrToken = errors.New("not a valid key or token")

// KeyKind is the kind of the owner of a key, in the words of NATS.
type KeyKind uint8

// The kinds of key.
const (
	OperatorKey KeyKind = iota + 1 // whom the servers trust; it signs accounts
	AccountKey                     // a fabric, whose users see nothing of other accounts; it signs users
	UserKey                        // a process
)

// Key is an nkey: an Ed25519 key pair in the encoding of NATS. The zero value is none.
type Key struct {
	Public string
	Seed   []byte // the secret
}

// String names the public half.
func (k Key) String() string { return k.Public }

// LogValue is for logs, where the secret has no place.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.Public) }

// NewKey draws a key.
func NewKey(kind KeyKind) (Key, error) {
	draw := map[KeyKind]func() (nkeys.KeyPair,
		error){OperatorKey: nkeys.CreateOperator, AccountKey: nkeys.CreateAccount, UserKey: nkeys.CreateUser}[kind]
	if draw == nil {
		return Key{}, fmt.Errorf("bus: key of kind %d: %w", kind, ErrToken)
	}
	pair, err := draw()
	if err != nil {
		return Key{}, fmt.Errorf("bus: make a key: %w", err)
	}
	return keyOf(pair)
}

// ReadKey reads a key from a file of a seed, as nk and nsc write it. It refuses one that others can
// read or replace.
func ReadKey(path string) (Key, error) {
	text, err := safefile.ReadSecret(path)
	if err != nil {
		return Key{}, fmt.Errorf("read a key: %w", err)
	}
	pair, err := nkeys.FromSeed([]byte(strings.TrimSpace(string(text))))
	if err != nil {
		return Key{}, fmt.Errorf("%s: no seed of an nkey: %w", path, ErrToken)
	}
	return keyOf(pair)
}

func keyOf(pair nkeys.KeyPair) (k Key, err error) {
	if k.Public, err = pair.PublicKey(); err == nil {
		k.Seed, err = pair.Seed()
	}
	if err != nil {
		return Key{}, fmt.Errorf("bus: %w: %w", ErrToken, err)
	}
	return k, nil
}

// pair is the key as the library signs with it.
func (k Key) pair() (nkeys.KeyPair, error) {
	pair, err := nkeys.FromSeed(k.Seed)
	if err != nil {
		return nil, fmt.Errorf("bus: key %q: %w", k.Public, ErrToken)
	}
	return pair, nil
}

// CredsFile is the text of a NATS .creds file: a user's token and secret.
func CredsFile(token string, user Key) ([]byte, error) {
	text, err := jwt.FormatUserConfig(token, user.Seed)
	if err != nil {
		return nil, fmt.Errorf("bus: credentials of %s: %w", user.Public, err)
	}
	return text, nil
}

// readToken is the token in a .creds file.
func readToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return jwt.ParseDecoratedJWT(text)
}

// nameInToken is the name of the user, as far as it can be read.
func nameInToken(token string) string {
	if claims, err := jwt.DecodeUserClaims(token); err == nil {
		return claims.Name
	}
	return "of a token that cannot be read"
}

// keyInToken is the key of the user, "" if it cannot be read.
func keyInToken(token string) string {
	if claims, err := jwt.DecodeUserClaims(token); err == nil {
		return claims.Subject
	}
	return ""
}

// inboxInToken is the inbox that a token of ours allows; "" if it is not one of ours.
func inboxInToken(token string) string {
	claims, err := jwt.DecodeUserClaims(token)
	if err != nil {
		return ""
	}
	for _, subject := range claims.Sub.Allow {
		if own, ok := strings.CutSuffix(subject, ".>"); ok && strings.HasPrefix(own, inboxes+root+"-") {
			return own
		}
	}
	return ""
}

// ReadUserToken checks the signature of a user's token and returns its name, its key and the key
// that signed it.
func ReadUserToken(token string) (name, user, signer string, err error) {
	claims, err := jwt.DecodeUserClaims(token)
	if err != nil {
		return "", "", "", fmt.Errorf("bus: %w: %w", ErrToken, err)
	}
	return claims.Name, claims.Subject, claims.Issuer, nil
}

// CheckUserKey gives an error unless text is the public key of a user.
func CheckUserKey(text string) error {
	if !nkeys.IsValidPublicUserKey(text) {
		return fmt.Errorf("bus: %.80q: %w: want the public key of a user", text, ErrToken)
	}
	return nil
}
