package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"syscall"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/web"
)

const (
	defaultListen = "127.0.0.1:8420"
	listenOff     = "off"
)

// page is the HTTP side of fabricd up, or none.
type page struct{ web *api.Web }

// page listens where the flags say. The default address may be taken by another fabric; then any free port does.
func (u upFlags) page(s *api.Server, log *slog.Logger) (page, error) {
	if u.listen == listenOff {
		return page{}, nil
	}
	c := api.WebConfig{Server: s, Page: web.Handler(), List: registry.List, Log: log}
	w, err := api.NewWeb(u.listen, c)
	if errors.Is(err, syscall.EADDRINUSE) && !u.listenGiven {
		host, _, _ := net.SplitHostPort(defaultListen) // a constant of ours
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

// warn says so when others than this machine can look.
func (p page) warn(stderr io.Writer) {
	if p.web != nil && !p.web.Loopback() {
		fmt.Fprintln(stderr, "fabricd: the page can be reached from other machines: all who can may look, and what they send, the token too, is not encrypted")
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
