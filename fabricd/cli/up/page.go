package up

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/auth"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/web"
)

const (
	DefaultListen = "127.0.0.1:8420"
	listenOff     = "off"
)

// webFlags say who may use the page and the HTTP API, and what encrypts them.
type webFlags struct{ tokens, certFile, keyFile string }

func (w *webFlags) flags(f *pflag.FlagSet) {
	f.StringVar(&w.tokens, "tokens", "", "`file` of tokens that may look or operate, as fabricd auth token makes it; that of --auth unless given")
	f.StringVar(&w.certFile, "page-cert", "", "certificate `file` for HTTPS; that of --auth unless given, where others than this machine can reach the page")
	f.StringVar(&w.keyFile, "page-key", "", "private key `file` of that certificate")
}

// config completes c; what is not given is that of a folder that fabricd auth has made, which may
// be nil. A page that only this machine can reach is not encrypted unless that is asked for.
func (w webFlags) config(c api.WebConfig, from *auth.Folder, address string) (_ api.WebConfig, err error) {
	if c.CertFile, c.KeyFile = w.certFile, w.keyFile; c.CertFile == "" && c.KeyFile == "" && !loopback(address) {
		c.CertFile, c.KeyFile = from.CertFile(), from.KeyFile()
	}
	if file := cmp.Or(w.tokens, from.Tokens()); file != "" {
		c.Tokens, err = auth.OpenTokens(file, c.Log)
	}
	return c, err
}

// loopback reports whether an address is one that only this machine can reach.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// page is the HTTP side of fabricd up, or none.
type page struct{ web *api.Web }

// page listens where the flags say. The default address may be taken by another fabric; then any
// free port does.
func (u upFlags) page(s *api.Server, from *auth.Folder, stderr io.Writer) (page, error) {
	if u.listen == listenOff {
		return page{}, nil
	}
	c, err := u.web.config(api.WebConfig{Server: s, Page: web.Handler(), List: registry.List, Log: u.accessLog(stderr)},
		from, u.listen)
	if err != nil {
		return page{}, err
	}
	w, err := api.NewWeb(u.listen, c)
	if errors.Is(err, syscall.EADDRINUSE) && !u.listenGiven {
		host, _, _ := net.SplitHostPort(DefaultListen) // a constant of ours
		w, err = api.NewWeb(net.JoinHostPort(host, "0"), c)
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w: give another with --listen, as 127.0.0.1:0 for a free port, or off", err)
	}
	return page{w}, err
}

// accessLog says who is let in no more, also when little else is to be said.
func (u upFlags) accessLog(stderr io.Writer) *slog.Logger {
	level := slog.LevelWarn
	if u.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
}

// address is where the page is, and the token it takes to act there.
func (p page) address() (url, token string) {
	if p.web == nil {
		return "", ""
	}
	return p.web.URL(), p.web.Token()
}

// shown is the address that is printed, with the token of this run. Where others can reach the page
// and there are tokens for them it is without: what is printed may be kept in a journal.
func (p page) shown(e registry.Entry) string {
	if p.web != nil && p.web.Tokens != nil && !p.web.Loopback() {
		return e.Page
	}
	return e.PageWithToken()
}

// warn says so when others than this machine can reach it.
func (p page) warn(stderr io.Writer) {
	switch {
	case p.web == nil || p.web.Loopback():
	case p.web.Encrypted():
		fmt.Fprintln(stderr, "fabricd: the page can be reached from other machines: to look, too, needs a token")
	default:
		fmt.Fprintln(stderr, "fabricd: the page can be reached from other machines: to look, too, needs a token, but what is sent, the token too, is not encrypted: give --page-cert and --page-key")
	}
}

// run serves until ctx ends.
func (p page) run(ctx context.Context, log *slog.Logger) {
	if p.web == nil {
		return
	}
	if err := p.web.Run(ctx); err != nil {
		log.Error("page", "err", err)
	}
}

func (p page) close() {
	if p.web != nil {
		_ = p.web.Close() // it is closed already, unless nothing has been served
	}
}
