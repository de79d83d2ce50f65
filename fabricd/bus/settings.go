package bus

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/nats-io/jsm.go/natscontext"
	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/fabricd/document"
)

// Settings name a NATS server that exists already, as the flags of the nats command do. What is
// empty was not given; see Resolve.
type Settings struct {
	Server          string // one URL or several, separated by commas
	Auth            string // a folder that fabricd auth has made
	Creds, NKey     string // paths
	User, Password  string
	Token           string
	TLSCert, TLSKey string // paths
	TLSCA           string // path
	TLSFirst        bool
	InboxPrefix     string
	Context         string // the name of a context of the nats command
	Timeout         time.Duration
	timeoutFlag     *pflag.Flag // tells 0 s from not given
}

// String keeps secrets to itself.
func (s Settings) String() string { return "server " + redact(s.Server) + ", context " + s.Context }

// ServerFlag is the annotation of the flags that [Settings.Flags] declares, so that help can show
// them apart.
const ServerFlag = "weft_server"

// Flags declares the flags of s, named as those of the nats command are.
func (s *Settings) Flags(fs *pflag.FlagSet) {
	fs.StringVarP(&s.Server, "server", "s", s.Server,
		"`URL` of a NATS server that runs already, instead of Weft's own (NATS_URL)")
	fs.StringVar(&s.Context, "context", s.Context,
		"`name` of a context of the nats command to take what is not given from (NATS_CONTEXT)")
	fs.StringVar(&s.Auth, "auth", s.Auth,
		"`folder` with credentials and the authority of the server, one of those that fabricd auth init has made")
	fs.StringVar(&s.Creds, "creds", s.Creds, "credentials `file` of the user (NATS_CREDS)")
	fs.StringVar(&s.NKey, "nkey", s.NKey, "`file` with the nkey seed of the user (NATS_NKEY)")
	fs.StringVar(&s.User, "user", s.User, "user `name`; without a password, a token (NATS_USER)")
	fs.StringVar(&s.Password, "password", s.Password,
		"`password` of the user; other users of the machine see flags, not NATS_PASSWORD")
	fs.StringVar(&s.Token, "token", s.Token, "`token` instead of a user (NATS_TOKEN)")
	fs.StringVar(&s.TLSCert, "tlscert", s.TLSCert, "certificate `file` of the user (NATS_CERT)")
	fs.StringVar(&s.TLSKey, "tlskey", s.TLSKey, "private key `file` of the certificate (NATS_KEY)")
	fs.StringVar(&s.TLSCA, "tlsca", s.TLSCA, "`file` of the authority that signed the server's certificate (NATS_CA)")
	fs.BoolVar(&s.TLSFirst, "tlsfirst", s.TLSFirst, "begin with the TLS handshake, before the server greets")
	fs.StringVar(&s.InboxPrefix, "inbox-prefix", s.InboxPrefix, "`prefix` of the subjects of answers instead of _INBOX")
	fs.DurationVar(&s.Timeout, "timeout", s.Timeout, "`time` to connect, 5s if not given (NATS_TIMEOUT)")
	s.timeoutFlag = fs.Lookup("timeout")
	for _, name := range []string{
		"server", "context", "auth", "creds", "nkey", "user", "password", "token", "tlscert", "tlskey", "tlsca",
		"tlsfirst",
		"inbox-prefix", "timeout",
	} {
		_ = fs.SetAnnotation(name, ServerFlag, nil) // there is such a flag
	}
}

// Resolved is where to connect to, and how.
type Resolved struct {
	URL         string // of the server; "" is none: run the embedded broker
	Folder      string // that of --auth, in which there may be more than credentials; "" is none
	Credentials Credentials
	Notes       []string // what the user should know, a sentence each: what overrides what, and what is not used
}

// ErrNoServer says what a fabric on several hosts needs.
var ErrNoServer = errors.New("hosts meet at a NATS server: name it with --server (NATS_URL), as nats://h1:4222")

// Resolve settles each field by itself: a flag counts over the environment, that over the context
// named by --context or NATS_CONTEXT. The context that the user has selected for the nats command
// does not count: without a server named here Weft runs its own broker, and what another tool talks
// to must not change that. env is os.Getenv; the contexts are read from where the nats command
// keeps them. Errors name the option, the file and what to do.
func (s Settings) Resolve(env func(string) string) (Resolved, error) {
	s, err := s.open()
	if err != nil {
		return Resolved{}, err
	}
	o := options{
		server: option{flag: "server", env: "NATS_URL", context: "url", value: s.Server},
		creds:  option{flag: "creds", env: "NATS_CREDS", context: "creds", value: s.Creds},
		nkey:   option{flag: "nkey", env: "NATS_NKEY", context: "nkey", value: s.NKey},
		user:   option{flag: "user", env: "NATS_USER", context: "user", value: s.User}, password: option{
			flag: "password", env: "NATS_PASSWORD", context: "password", value: s.Password,
		},
		token: option{flag: "token", env: "NATS_TOKEN", context: "token", value: s.Token},
		cert:  option{flag: "tlscert", env: "NATS_CERT", context: "cert", value: s.TLSCert},
		key:   option{flag: "tlskey", env: "NATS_KEY", context: "key", value: s.TLSKey},
		ca:    option{flag: "tlsca", env: "NATS_CA", context: "ca", value: s.TLSCA},
		inbox: option{flag: "inbox-prefix", context: "inbox_prefix", value: s.InboxPrefix},
	}
	ctx, err := s.context(env)
	if err != nil {
		return Resolved{}, err
	}
	o.merge(env, ctx)
	timeout, err := s.timeout(env)
	if err != nil {
		return Resolved{}, err
	}
	if o.server.from == fromNowhere {
		return o.noServer()
	}
	if err := errors.Join(o.checkServer(), o.chooseUser(), o.checkTLS(), o.checkFiles(), o.checkInbox()); err != nil {
		return Resolved{}, err
	}
	return Resolved{
		URL: o.server.value, Folder: s.Auth, Notes: o.notes,
		Credentials: Credentials{
			User: o.user.value, Password: o.password.value, Token: o.token.value,
			CredsFile: o.creds.value, NKeyFile: o.nkey.value,
			TLSCert: o.cert.value, TLSKey: o.key.value, TLSCA: o.ca.value,
			TLSFirst:    s.TLSFirst || ctx != nil && ctx.TLSHandshakeFirst(),
			InboxPrefix: o.inbox.value, Timeout: timeout,
		},
	}, nil
}

// open takes from the folder of --auth what is in it: the credentials of one user, and the
// authority of the server unless that is given.
func (s Settings) open() (Settings, error) {
	if s.Auth == "" {
		return s, nil
	}
	if s.Creds+s.NKey+s.User+s.Token != "" {
		return s, errors.New("bus: --auth says who we are: leave --creds, --nkey, --user and --token out")
	}
	creds, err := filepath.Glob(filepath.Join(s.Auth, "*.creds"))
	if err != nil || len(creds) != 1 {
		return s, fmt.Errorf("bus: --auth %s: it has %d files of credentials, want one: give a folder below that which "+
			"fabricd auth init has made, as leader, hosts/HOST or users/viewer", s.Auth, len(creds))
	}
	s.Creds = creds[0]
	if ca := filepath.Join(s.Auth, "ca.pem"); s.TLSCA == "" && readable(ca) == nil {
		s.TLSCA = ca
	}
	return s, nil
}

// context reads the context that is named, nil when none is.
func (s Settings) context(env func(string) string) (*natscontext.Context, error) {
	name, where := s.Context, "--context"
	if name == "" {
		name, where = env("NATS_CONTEXT"), "NATS_CONTEXT"
	}
	if name == "" {
		return nil, nil
	}
	if !natscontext.IsKnown(name) {
		return nil, fmt.Errorf("bus: %s: %w; \"nats context ls\" lists them", where,
			document.Unknown("NATS context", name, natscontext.KnownContexts()))
	}
	path, _ := natscontext.ContextPath(name) // a known name is a valid one
	ctx, err := natscontext.New(name, true)
	if err != nil {
		return nil, fmt.Errorf("bus: %s: context %s in %s cannot be read: %w: mend it with \"nats context edit\"",
			where,
			name, path, err)
	}
	for field, value := range map[string]string{
		"socks_proxy": ctx.SocksProxy(), "windows_cert_store": ctx.WindowsCertStore(), "user_jwt": ctx.UserJWT(),
		"user_seed": ctx.UserSeed(),
	} {
		if value != "" {
			return nil, fmt.Errorf("bus: %s: context %s in %s has %q, which Weft does not support: use another context, or "+
				"--server and --creds", where, name, path, field)
		}
	}
	return ctx, nil
}

// maxTimeout is the longest time to connect. Chosen by us.
const maxTimeout = time.Hour

// timeout is the time to connect, 0 if nobody says.
func (s Settings) timeout(env func(string) string) (time.Duration, error) {
	name, d := "--timeout", s.Timeout
	given := d != 0 || s.timeoutFlag != nil && s.timeoutFlag.Changed
	if text := env("NATS_TIMEOUT"); !given && text != "" {
		var err error
		if d, err = time.ParseDuration(text); err != nil {
			return 0, fmt.Errorf("bus: NATS_TIMEOUT=%.32q: want a time such as 5s: %w", text, err)
		}
		name, given = "NATS_TIMEOUT", true
	}
	if given && (d <= 0 || d > maxTimeout) {
		return 0, fmt.Errorf("bus: %s: %v, want more than 0s and at most %v, such as 5s", name, d, maxTimeout)
	}
	return d, nil
}
