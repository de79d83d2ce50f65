package bus

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nats-io/jsm.go/natscontext"

	"github.com/weft-fabric/weft/fabricd/document"
)

// source is where a value comes from, the later over the earlier.
type source int

const (
	fromNowhere source = iota
	fromContext
	fromEnv
	fromFlag
)

// option is one field of Settings on its way to Resolved.
type option struct {
	flag, env, context string // its names; env and context may be ""
	value              string
	from               source
}

// name is what the user calls the option where it was given.
func (o *option) name(context string) string {
	switch o.from {
	case fromFlag:
		return "--" + o.flag
	case fromEnv:
		return o.env
	}
	return fmt.Sprintf("%q of context %s", o.context, context)
}

// options is the fields that are text.
type options struct {
	server, creds, nkey, user, password, token, cert, key, ca, inbox option

	context string // its name
	notes   []string
}

func (o *options) all() []*option {
	return []*option{&o.server, &o.creds, &o.nkey, &o.user, &o.password, &o.token, &o.cert, &o.key, &o.ca, &o.inbox}
}

// merge settles each option by itself.
func (o *options) merge(env func(string) string, ctx *natscontext.Context) {
	inContext := make(map[*option]string)
	if ctx != nil {
		o.context = ctx.Name
		inContext = map[*option]string{
			&o.server: ctx.ServerURL(), &o.creds: ctx.Creds(), &o.nkey: ctx.NKey(), &o.user: ctx.User(),
			&o.password: ctx.Password(),
			&o.token:    ctx.Token(), &o.cert: ctx.Certificate(), &o.key: ctx.Key(), &o.ca: ctx.CA(),
			&o.inbox: ctx.InboxPrefix(),
		}
	}
	for _, f := range o.all() {
		var inEnv string
		if f.env != "" {
			inEnv = env(f.env)
		}
		switch {
		case f.value != "":
			f.from = fromFlag
		case inEnv != "":
			f.value, f.from = inEnv, fromEnv
			if c := inContext[f]; c != "" && c != inEnv {
				o.note("%s in the environment overrides %q of context %s", f.env, f.context, o.context)
			}
		case inContext[f] != "":
			f.value, f.from = inContext[f], fromContext
		}
	}
}

func (o *options) note(format string, args ...any) {
	o.notes = append(o.notes, fmt.Sprintf(format, args...))
}

// noServer is Resolved for the embedded broker, which takes no settings. A flag that is given all
// the same is an error; a variable of the environment may be meant for another program.
func (o *options) noServer() (Resolved, error) {
	for _, f := range o.all() {
		switch f.from {
		case fromFlag:
			return Resolved{}, fmt.Errorf("bus: --%s without a server: name it with --server or --context, or leave --%s "+
				"out to use Weft's own broker", f.flag, f.flag)
		case fromEnv:
			o.note("%s is not used: no server is named, so Weft uses its own broker", f.env)
		}
	}
	return Resolved{Notes: o.notes}, nil
}

func (o *options) checkServer() error {
	name := o.server.name(o.context)
	servers := strings.Split(o.server.value, ",")
	for i, server := range servers {
		server = strings.TrimSpace(server)
		if !strings.Contains(server, "://") {
			server = "nats://" + server
		}
		u, err := url.Parse(server)
		if err != nil || u.Hostname() == "" { // err repeats the password
			return fmt.Errorf("bus: %s: %q is no address of a server: want one such as nats://127.0.0.1:4222", name,
				redact(server))
		}
		if schemes := []string{"nats", "tls", "ws", "wss"}; !slices.Contains(schemes, u.Scheme) {
			return fmt.Errorf("bus: %s: %q: %w", name, redact(server), document.Unknown("scheme", u.Scheme, schemes))
		}
		servers[i] = server
	}
	o.server.value = strings.Join(servers, ",")
	return nil
}

// chooseUser leaves one way to say who we are: that from the highest source. A user from one source
// may have the password of another.
func (o *options) chooseUser() error {
	if o.user.from >= fromEnv && o.password.from == fromNowhere { // as the nats command takes it
		if o.token.from < o.user.from {
			o.token.value, o.token.from = o.user.value, o.user.from
		}
		o.user.value, o.user.from = "", fromNowhere
	}
	ways := []*option{&o.creds, &o.nkey, &o.user, &o.token}
	best := slices.MaxFunc(ways, func(a, b *option) int { return cmp.Compare(a.from, b.from) })
	if o.user.from == fromNowhere && o.password.from > best.from {
		if o.password.from == fromFlag {
			return errors.New("bus: --password without a user: give --user, too")
		}
		o.note("%s is not used: there is no user it could be of", o.password.name(o.context))
	}
	for _, w := range ways {
		switch {
		case w == best || w.from == fromNowhere:
		case w.from == best.from:
			return fmt.Errorf("bus: both %s and %s are given: keep one", best.name(o.context), w.name(o.context))
		default:
			o.note("%s overrides %s", best.name(o.context), w.name(o.context))
			*w = option{}
		}
	}
	if o.user.from == fromNowhere {
		o.password = option{}
	}
	return nil
}

func (o *options) checkTLS() error {
	for _, pair := range [][2]*option{{&o.cert, &o.key}, {&o.key, &o.cert}} {
		if given, missing := pair[0], pair[1]; given.from != fromNowhere && missing.from == fromNowhere {
			return fmt.Errorf("bus: %s without --%s: a certificate and its key go together", given.name(o.context), missing.flag)
		}
	}
	return nil
}

// checkFiles opens all files, to name the one that cannot be read.
func (o *options) checkFiles() error {
	var errs []error
	for _, f := range []*option{&o.creds, &o.nkey, &o.cert, &o.key, &o.ca} {
		if f.from == fromNowhere {
			continue
		}
		if rest, ok := strings.CutPrefix(f.value, "~/"); ok {
			if home, err := os.UserHomeDir(); err == nil {
				f.value = filepath.Join(home, rest)
			}
		}
		if err := readable(f.value); err != nil {
			errs = append(errs, fmt.Errorf("bus: %s: the file cannot be read: %w: give the path of one that can",
				f.name(o.context), err))
		}
	}
	return errors.Join(errs...)
}

func readable(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.IsDir() {
		return cmp.Or(err, fmt.Errorf("%s is a folder", path))
	}
	return nil
}

func (o *options) checkInbox() error {
	if p := o.inbox.value; strings.ContainsAny(p, "*> \t\r\n") || strings.HasPrefix(p, ".") ||
		strings.HasSuffix(p, ".") || strings.Contains(p, "..") {
		return fmt.Errorf("bus: %s: %.64q is no prefix of subjects: want words joined by single dots, without * and >",
			o.inbox.name(o.context), p)
	}
	return nil
}
