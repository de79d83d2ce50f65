package bus

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/weft-fabric/weft/fabricd/safefile"
)

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
	// JWT and Seed are what a NATS .creds file holds, given together: the token of a user and its
	// secret key. They are for credentials that travel to another process, as those of a host.
	JWT  string `json:"jwt,omitempty"`
	Seed string `json:"seed,omitempty"`
	// TLSCert and TLSKey are paths of our certificate and its key in PEM, given together; TLSCA is
	// that of who signed the broker's, that of the system when empty.
	TLSCert  string `json:"tlscert,omitempty"`
	TLSKey   string `json:"tlskey,omitempty"`
	TLSCA    string `json:"tlsca,omitempty"`
	TLSFirst bool   `json:"tlsfirst,omitempty"` // begin with the TLS handshake, for brokers that greet only after it
	// InboxPrefix is where replies go: on a broker of ours each role has an inbox that the others
	// cannot hear. Users of the nats command give it as --inbox-prefix. Empty is nats.go's default.
	InboxPrefix string        `json:"inbox_prefix,omitempty"`
	Timeout     time.Duration `json:"timeout,omitempty"` // to connect, in nanoseconds; 0 is 5 s

	identity *Identity // whose JWT and Seed they are, which change while connections last; nil: they do not
}

// LogValue keeps what is secret out of logs.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(c.String()) }

// String names the user and keeps what is secret to itself.
func (c Credentials) String() string {
	switch {
	case c.User != "":
		return "user " + c.User
	case c.identity != nil:
		return "user " + c.identity.User()
	case c.JWT != "":
		return "user " + nameInToken(c.JWT)
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
	if err := c.checkPrivate(); err != nil {
		return nil, err
	}
	if c.User != "" {
		opts = append(opts, nats.UserInfo(c.User, c.Password))
	}
	switch {
	case c.identity != nil:
		opts = append(opts, nats.UserJWT(c.identity.token, c.identity.sign))
	case c.JWT != "":
		opts = append(opts, nats.UserJWTAndSeed(c.JWT, c.Seed))
	case c.CredsFile != "":
		opts = append(opts, nats.UserCredentials(c.CredsFile)) // it is read at each connect
	}
	if c.ours() {
		// A server that was away may not know the newest credentials yet, which is no reason to
		// give up.
		opts = append(opts, nats.IgnoreAuthErrorAbort(), nats.ReconnectWait(reconnectWait))
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
	if p := c.inbox(); p != "" {
		opts = append(opts, nats.CustomInboxPrefix(p))
	}
	return opts, nil
}

// inbox is where replies go: as given, else as the token of the user allows. "" is nats.go's
// default.
func (c Credentials) inbox() string {
	switch {
	case c.InboxPrefix != "":
		return c.InboxPrefix
	case c.identity != nil:
		return inboxInToken(c.identity.current().token)
	case c.JWT != "":
		return inboxInToken(c.JWT)
	case c.CredsFile != "":
		if token, err := readToken(c.CredsFile); err == nil { // else to connect fails, and says why
			return inboxInToken(token)
		}
	}
	return ""
}

// key is the public key that they prove to have, "" where they have none or it cannot be read.
func (c Credentials) key() string {
	switch {
	case c.identity != nil:
		return c.identity.current().key.Public
	case c.JWT != "":
		return keyInToken(c.JWT)
	case c.CredsFile != "":
		if token, err := readToken(c.CredsFile); err == nil {
			return keyInToken(token)
		}
	}
	return ""
}

// withKey names the user and its key.
func (c Credentials) withKey() string {
	if key := c.key(); key != "" {
		return c.String() + " with the key " + key
	}
	return c.String()
}

// ours reports whether they are a token that fabricd auth has made, or who leads: one that can be
// renewed.
func (c Credentials) ours() bool {
	return c.InboxPrefix == "" && c.inbox() != "" || c.JWT != "" || c.identity != nil
}

// checkPrivate refuses files with secrets in them that others on the machine can read or replace.
func (c Credentials) checkPrivate() error {
	for _, path := range []string{c.CredsFile, c.NKeyFile, c.TLSKey} {
		if path == "" {
			continue
		}
		if err := safefile.CheckSecret(path); err != nil {
			return err
		}
	}
	return nil
}

// newCredentials makes credentials with a password of 128 random bits. The user's name must do as a
// token of a subject.
func newCredentials(user string) Credentials {
	return Credentials{User: user, Password: rand.Text(), InboxPrefix: inboxOf(user)}
}

func inboxOf(user string) string { return inboxes + root + "-" + user }

// conn is a connection to a broker, and what that has said against it.
type conn struct {
	*nats.Conn
	*refusals
}

// connect opens a connection to the broker, through a pipe, or to url when broker is nil. Errors
// say what to do.
func connect(broker *Broker, url string, creds Credentials, opts []nats.Option) (*conn, error) {
	r := &refusals{creds: creds, where: "the broker at " + redact(url)}
	if broker != nil {
		creds = broker.Credentials(RoleFabric)
		// A pipe to our own server does not hang, and a deadline for every write costs as much as
		// the write.
		opts = append([]nats.Option{nats.InProcessServer(inProcess{broker}), nats.FlusherTimeout(0)}, opts...)
	}
	more, err := creds.options()
	if err != nil {
		return nil, err
	}
	// Of several servers the first that answers: one's own host is named first.
	opts = append(append(opts, nats.Timeout(connectTimeout), nats.DontRandomize()), more...)
	c, err := nats.Connect(url, append(opts, r.watch)...)
	if err == nil {
		return &conn{c, r}, nil
	}
	if broker != nil {
		return nil, fmt.Errorf("connect to the embedded broker: %w", err)
	}
	return nil, cannotConnect(url, creds, err)
}

// usualControlLine is the most bytes that a broker takes for a token, unless its max_control_line
// is more.
const usualControlLine = 4096

// closed reports whether the other side has closed the connection.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// cannotConnect says why, and what to do.
func cannotConnect(url string, creds Credentials, err error) error {
	var netErr *net.OpError
	switch {
	case unauthorized(err):
		return fmt.Errorf("the broker at %s refuses %s: %s: %w", redact(url), creds.withKey(), creds.right(), err)
	case strings.Contains(err.Error(), "maximum control line"):
		return fmt.Errorf("the broker at %s refuses the token of %s, which is too long for it: raise its max_control_line, "+
			"best to 256KB: %w", redact(url), creds, err)
	case len(creds.JWT) > usualControlLine && closed(err): // perhaps for that, and its reason is lost
		return fmt.Errorf("the broker at %s closes the connection; does it run? If it does, the token of %s may be too long "+
			"for it, %d bytes: raise its max_control_line, best to 256KB: %w", redact(url), creds, len(creds.JWT), err)
	case aboutTLS(err):
		return fmt.Errorf("the broker at %s and we do not agree on TLS: %s: %w", redact(url), creds.tlsAdvice(err), err)
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout), errors.As(err, &netErr):
		return fmt.Errorf("no broker answers at %s: does it run, and is this its address? %w", redact(url), err)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("no broker answers at %s: what takes the connection there closes it without a word, "+
			"as a proxy does whose broker is gone: does the broker run? %w", redact(url), err)
	}
	return fmt.Errorf("connect to the broker at %s: %w", redact(url), err)
}

// right says what to do when they are refused.
func (c Credentials) right() string {
	if c == (Credentials{Timeout: c.Timeout}) {
		return "it wants to know who we are: give --user and --password, --creds or another way to say so"
	}
	if c.identity != nil || c.JWT != "" || c.CredsFile != "" {
		return "it does not know who signed them, or they are revoked or expired: take the newest that fabricd auth has made"
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
