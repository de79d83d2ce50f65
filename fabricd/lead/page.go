package lead

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/auth"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/web"
)

// DefaultListen is where the page of a fabric is unless another address is given.
const DefaultListen = "127.0.0.1:8420"

// Page says where the page, the HTTP API and the metrics are, who may use them and what encrypts
// them. Files that are not given are those of the folder of credentials, where there is one.
type Page struct {
	Listen                    string // address; empty: there is none of all that
	AnyPort                   bool   // a free port will do where another process has that of Listen
	Tokens, CertFile, KeyFile string
	Log                       *slog.Logger // who is let in no more; nil: discarded

	jobs func(context.Context) ([]api.Job, error) // nil: none
}

// config is that of the HTTP side, with what is not given from a folder that fabricd auth has made,
// which may be nil. A page that only this machine can reach is not encrypted unless that is asked
// for.
func (p Page) config(s *api.Server, from *auth.Folder) (c api.WebConfig, err error) {
	c = api.WebConfig{
		Server: s, Page: web.Handler(), List: registry.List, Log: p.Log, CertFile: p.CertFile, KeyFile: p.KeyFile,
		Jobs: p.jobs,
	}
	if c.CertFile == "" && c.KeyFile == "" && !loopback(p.Listen) {
		c.CertFile, c.KeyFile = from.CertFile(), from.KeyFile()
	}
	if file := cmp.Or(p.Tokens, from.Tokens()); file != "" {
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

// page is the HTTP side of a fabric, or none.
type page struct{ web *api.Web }

// open listens.
func (p Page) open(s *api.Server, from *auth.Folder) (page, error) {
	if p.Listen == "" {
		return page{}, nil
	}
	c, err := p.config(s, from)
	if err != nil {
		return page{}, err
	}
	w, err := api.NewWeb(p.Listen, c)
	if errors.Is(err, syscall.EADDRINUSE) && p.AnyPort {
		host, _, _ := net.SplitHostPort(p.Listen) // NewWeb has
		w, err = api.NewWeb(net.JoinHostPort(host, "0"), c)
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w: give another with --listen, as 127.0.0.1:0 for a free port, or off", err)
	}
	return page{w}, err
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
func (p page) warn(note func(string)) {
	switch {
	case p.web == nil || p.web.Loopback():
	case p.web.Encrypted():
		note("the page can be reached from other machines: to look, too, needs a token")
	default:
		note("the page can be reached from other machines: to look, too, needs a token, but what is sent, the token too, " +
			"is not encrypted: give --page-cert and --page-key")
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
