package bus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/weft-fabric/weft/switch/wire"
)

// OperatorToken has servers trust the accounts that this operator has signed. system is the
// public key of the account in which servers talk to each other, and hear of new accounts.
func OperatorToken(operator Key, name, system string) (string, error) {
	claims := jwt.NewOperatorClaims(operator.Public)
	claims.Name, claims.SystemAccount = name, system
	return encode(claims, operator)
}

// Account is an account as servers know it.
type Account struct {
	Name   string
	Public string // its key
	// Signers are the public keys that may sign its users. A user whose signer is taken out is let
	// in no more, and ends.
	Signers []string
	// Revoked are users who are let in no more, by public key, when their tokens were made until
	// then.
	Revoked map[string]time.Time
	// JetStreamBytes gives it JetStream, with so many bytes on disk and in memory each; 0 is none.
	JetStreamBytes int64
}

// Token is the account, signed by an operator. Servers take the newest by the second in which it
// was signed.
func (a Account) Token(operator Key) (string, error) {
	claims := jwt.NewAccountClaims(a.Public)
	claims.Name = a.Name
	for _, s := range a.Signers {
		claims.SigningKeys.Add(s)
	}
	for user, until := range a.Revoked {
		claims.RevokeAt(user, until)
	}
	if a.JetStreamBytes > 0 {
		claims.Limits.JetStreamLimits = jwt.JetStreamLimits{
			MemoryStorage: a.JetStreamBytes, DiskStorage: a.JetStreamBytes, Streams: jwt.NoLimit, Consumer: jwt.NoLimit,
		}
	}
	return encode(claims, operator)
}

// SystemUser is the token of the user who tells servers of accounts, and may do nothing else.
func SystemUser(signer Key, system, user string) (string, error) {
	inbox := inboxOf("system")
	return userToken(signer, system, user, "system", systemGrant().withInbox(inbox))
}

// systemGrant is to tell servers of accounts, and to ask which are there.
func systemGrant() grant { return grant{publish: []string{claimsUpdate, serverPing}} }

// UserToken is a user of the account in a role, signed by the account; name is that of the host of
// an agent.
func UserToken(signer Key, account, fabric, user string, r Role, name string) (string, error) {
	if err := errors.Join(ValidateFabric(fabric), validateAgent(r, name)); err != nil {
		return "", err
	}
	g := grantOf(r, fabric, name)
	if len(g.publish) == 0 { // servers take an empty list for leave to do everything
		return "", fmt.Errorf("bus: a token for role %v: %w", r, ErrToken)
	}
	return userToken(signer, account, user, r.User(name), g.withInbox(r.inbox(name)))
}

// inbox is where a role hears answers. Those of agents are below one another's, since they answer
// each other.
func (r Role) inbox(name string) string {
	if r == RoleAgent {
		return inboxOf(r.String()) + "." + nodeToken(name)
	}
	return inboxOf(r.User(name))
}

func validateAgent(r Role, name string) error {
	if r == RoleAgent {
		return wire.ValidateNode(name)
	}
	return nil
}

func userToken(signer Key, account, user, name string, g grant) (string, error) {
	claims := jwt.NewUserClaims(user)
	claims.Name, claims.IssuerAccount, claims.Permissions = name, account, g.inToken()
	return encode(claims, signer)
}

func encode(claims jwt.Claims, signer Key) (string, error) {
	pair, err := signer.pair()
	if err != nil {
		return "", err
	}
	defer pair.Wipe()
	token, err := claims.Encode(pair)
	if err != nil {
		return "", fmt.Errorf("bus: sign a token of %s: %w", claims.Claims().Subject, err)
	}
	return token, nil
}

// Subjects of the system account.
const (
	claimsUpdate = "$SYS.REQ.CLAIMS.UPDATE"
	serverPing   = "$SYS.REQ.SERVER.PING"
)

// PushConfig says how to reach the servers of a cluster, as the user of [SystemUser].
type PushConfig struct {
	URL         string
	Credentials Credentials
	Servers     int           // answers that are waited for; 0: as many as say that they are there
	Wait        time.Duration // for an answer; 0 is 2 s
}

// PushAccount tells all servers of the cluster what an account is from now on, and returns the
// names of those that have taken it, sorted. Servers that are away hear of it from the others when
// they are back. It fails when a server refuses it, and when none takes it.
func PushAccount(ctx context.Context, cfg PushConfig, token string) (took []string, err error) {
	cfg.Wait = cmp.Or(cfg.Wait, 2*time.Second)
	conn, err := connect(nil, cfg.URL, cfg.Credentials, []nats.Option{nats.Name(root + "-auth"), nats.NoReconnect()})
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	type said struct {
		Server struct{ Name string }
		Data   *struct{ Code int }
		Error  *struct{ Description string }
	}
	ask := func(subject string, data []byte, want int, wait time.Duration) (all []said, err error) {
		_, err = conn.gather(ctx, subject, data, wait, func(answer []byte) (enough bool) {
			var one said
			if json.Unmarshal(answer, &one) == nil {
				all = append(all, one)
			}
			return len(all) == want
		})
		if err != nil {
			err = fmt.Errorf("bus: ask %s: %w", subject, err)
		}
		return all, err
	}
	want := cfg.Servers
	if want == 0 {
		there, err := ask(serverPing, nil, 0, cfg.Wait/4)
		if err != nil {
			return nil, err
		}
		want = len(there)
	}
	answers, err := ask(claimsUpdate, []byte(token), want, cfg.Wait)
	if err != nil {
		return nil, err
	}
	for _, a := range answers {
		if a.Error != nil {
			err = errors.Join(err, fmt.Errorf("the server %s refuses the account: %s", a.Server.Name, a.Error.Description))
			continue
		}
		took = append(took, a.Server.Name)
	}
	if len(took) == 0 && err == nil {
		err = fmt.Errorf("no server at %s takes the account: does it run with the configuration that fabricd auth init has "+
			"made?", redact(cfg.URL))
	}
	slices.Sort(took)
	return took, err
}
