package bus

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Role is what a connection may do on a broker of ours.
type Role uint8

// The roles. The zero value may do nothing.
const (
	RoleFabric   Role = iota + 1 // everything on the subjects of this fabric: the fabric itself
	RoleOperator                 // any request, events, hears frames and sends none: a human or script that cuts and restores
	RoleViewer                   // read requests (verbs get.*), events, hears frames; cannot change anything
	RoleManager                  // uploads tables, keeps the manager's state, read requests, events; cannot cut
)

// String prints the role, which is also its user name.
func (r Role) String() string {
	switch r {
	case RoleFabric:
		return "fabric"
	case RoleOperator:
		return "operator"
	case RoleViewer:
		return "viewer"
	case RoleManager:
		return "manager"
	}
	return "nobody"
}

const (
	inboxes        = "_INBOX."
	connectTimeout = 5 * time.Second // to connect and to have subscriptions confirmed
)

// Credentials open a connection. Each field is used when it is not empty.
//
// The JSON is for files that only their user can read.
type Credentials struct {
	User      string `json:"user,omitempty"`
	Password  string `json:"password,omitempty"`
	CredsFile string `json:"creds,omitempty"` // path of a NATS .creds file
	NKeyFile  string `json:"nkey,omitempty"`  // path of an nkey seed file
	Token     string `json:"token,omitempty"`
	// TLSCert and TLSKey are paths of our certificate and its key in PEM, given together; TLSCA is that of who signed the
	// broker's, that of the system when empty.
	TLSCert  string `json:"tlscert,omitempty"`
	TLSKey   string `json:"tlskey,omitempty"`
	TLSCA    string `json:"tlsca,omitempty"`
	TLSFirst bool   `json:"tlsfirst,omitempty"` // begin with the TLS handshake, for brokers that greet only after it
	// InboxPrefix is where replies go: on a broker of ours each role has an inbox that the others cannot hear. Users of
	// the nats command give it as --inbox-prefix. Empty is nats.go's default.
	InboxPrefix string        `json:"inbox_prefix,omitempty"`
	Timeout     time.Duration `json:"timeout,omitempty"` // to connect, in nanoseconds; 0 is 5 s
}

// LogValue keeps what is secret out of logs.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(c.String()) }

// String names the user and keeps what is secret to itself.
func (c Credentials) String() string {
	switch {
	case c.User != "":
		return "user " + c.User
	case c.CredsFile != "":
		return "the user of " + c.CredsFile
	case c.NKeyFile != "":
		return "the nkey of " + c.NKeyFile
	case c.Token != "":
		return "the token"
	}
	return "no user"
}

func (c Credentials) options() ([]nats.Option, error) {
	var opts []nats.Option
	if c.User != "" {
		opts = append(opts, nats.UserInfo(c.User, c.Password))
	}
	if c.CredsFile != "" {
		opts = append(opts, nats.UserCredentials(c.CredsFile))
	}
	if c.NKeyFile != "" {
		opt, err := nats.NkeyOptionFromSeed(c.NKeyFile)
		if err != nil {
			return nil, fmt.Errorf("nkey file %s: %w", c.NKeyFile, err)
		}
		opts = append(opts, opt)
	}
	if c.Token != "" {
		opts = append(opts, nats.Token(c.Token))
	}
	if c.TLSCert != "" || c.TLSKey != "" {
		opts = append(opts, nats.ClientCert(c.TLSCert, c.TLSKey))
	}
	if c.TLSCA != "" {
		opts = append(opts, nats.RootCAs(c.TLSCA))
	}
	if c.TLSFirst {
		opts = append(opts, nats.TLSHandshakeFirst())
	}
	if c.Timeout != 0 {
		opts = append(opts, nats.Timeout(c.Timeout))
	}
	if c.InboxPrefix != "" {
		opts = append(opts, nats.CustomInboxPrefix(c.InboxPrefix))
	}
	return opts, nil
}

// newCredentials makes credentials with a password of 128 random bits. The user's name must do as a token of a subject.
func newCredentials(user string) Credentials {
	return Credentials{User: user, Password: rand.Text(), InboxPrefix: inboxOf(user)}
}

func inboxOf(user string) string { return inboxes + root + "-" + user }

// allow is what the server lets a user do. What is not allowed is denied. Everybody hears the own inbox.
func allow(c Credentials, publish, subscribe []string) *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: publish},
		Subscribe: &server.SubjectPermission{Allow: append(subscribe, c.InboxPrefix+".>")},
	}
}

// permissions is what the server lets a role do.
func permissions(r Role, fabric string, c Credentials) *server.Permissions {
	switch r {
	case RoleFabric:
		return allow(c, append(storeSubjects(fabric), allOf(fabric), inboxes+">"), []string{allOf(fabric)})
	case RoleOperator:
		return allow(c, []string{allControl(fabric)}, []string{allEvents(fabric), allLinks(fabric)})
	case RoleManager:
		return allow(c, append(storeSubjects(fabric), allManage(fabric), allReads(fabric)), []string{allEvents(fabric)})
	default:
		return allow(c, []string{allReads(fabric)}, []string{allEvents(fabric), allLinks(fabric)})
	}
}

// connect opens a connection to the broker, through a pipe, or to url when broker is nil. Errors say what to do.
func connect(broker *Broker, url string, creds Credentials, opts []nats.Option) (*nats.Conn, error) {
	if broker != nil {
		creds = broker.Credentials(RoleFabric)
		// A pipe to our own server does not hang, and a deadline for every write costs as much as the write.
		opts = append(opts, nats.InProcessServer(broker.srv), nats.FlusherTimeout(0))
	}
	more, err := creds.options()
	if err != nil {
		return nil, err
	}
	// Of several servers the first that answers: one's own host is named first.
	opts = append(append(opts, nats.Timeout(connectTimeout), nats.DontRandomize()), more...)
	conn, err := nats.Connect(url, opts...)
	var netErr *net.OpError
	switch {
	case err == nil:
		return conn, nil
	case broker != nil:
		return nil, fmt.Errorf("connect to the embedded broker: %w", err)
	case errors.Is(err, nats.ErrAuthorization), strings.Contains(strings.ToLower(err.Error()), "authorization"):
		return nil, fmt.Errorf("the broker at %s refuses %v: %s: %w", redact(url), creds, creds.right(), err)
	case aboutTLS(err):
		return nil, fmt.Errorf("the broker at %s and we do not agree on TLS: check the certificates of both and who signed them: %w", redact(url), err)
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout), errors.As(err, &netErr):
		return nil, fmt.Errorf("no broker answers at %s: does it run, and is this its address? %w", redact(url), err)
	}
	return nil, fmt.Errorf("connect to the broker at %s: %w", redact(url), err)
}

// right says what to do when they are refused.
func (c Credentials) right() string {
	if c == (Credentials{Timeout: c.Timeout}) {
		return "it wants to know who we are: give --user and --password, --creds or another way to say so"
	}
	return "give credentials that it knows"
}

// redact takes passwords out of a NATS URL.
func redact(url string) string {
	if i := strings.LastIndexByte(url, '@'); i >= 0 {
		scheme, _, ok := strings.Cut(url, "://")
		if ok {
			return scheme + "://" + url[i+1:]
		}
		return url[i+1:]
	}
	return url
}
