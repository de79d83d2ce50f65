package api

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/weft-fabric/weft/fabricd/auth"
	"github.com/weft-fabric/weft/fabricd/document/nearest"
	"github.com/weft-fabric/weft/fabricd/document/plain"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/registry"
)

// Bounds of the HTTP side, chosen by us. Beyond them requests are refused, or wait in the kernel,
// and the fabric goes on.
const (
	maxConns    = 512              // connections that are held; see conns
	maxBusy     = 4                // requests that are answered at a time, streams apart: answers are made by few cores
	maxOrders   = 4                // and orders: one that waits for a repair keeps nobody from looking
	maxHeld     = 32               // requests of one client that are received, answered, sent, or wait to be answered
	queueTime   = 2 * time.Second  // and for how long they wait
	maxStreams  = 64               // viewers
	maxWatching = 16               // and those of one client
	lookTime    = time.Second / 4  // between looks whether tokens of streams and sessions still hold
	maxBody     = 1 << 20          // bytes of a request
	maxLoad     = 12 << 20         // of one that brings firmware: a module of [wasm.MaxModule] bytes in base64
	maxHeader   = 16 << 10         // bytes
	headerTime  = 5 * time.Second  // to send a header
	requestTime = 30 * time.Second // to send a request and read the answer, streams apart
	idleTime    = 15 * time.Second
	viewerTime  = 10 * time.Second // in which a viewer must take a frame
	endTime     = time.Second      // that requests under way get at the end
)

// WebConfig says what [Web] serves. Server is required.
type WebConfig struct {
	Server *Server
	Page   http.Handler                     // serves / and what the page loads; nil: nothing
	List   func() ([]registry.Entry, error) // the fabrics of this machine; nil: none
	Log    *slog.Logger                     // nil: discarded
	// Jobs are the computations at the server of the fabric; nil: it keeps none.
	Jobs func(context.Context) ([]Job, error)
	// Tokens may look or act, as the token of this run may; nil: that alone.
	Tokens *auth.Tokens
	// CertFile and KeyFile are a certificate and its key in PEM, given together, for HTTPS; empty
	// is HTTP.
	CertFile, KeyFile string
}

// Web is the HTTP side of a fabric: requests, the state stream, metrics, the page. Whoever reaches
// it from this machine may look; where others can reach it, looking needs a token. Orders always
// do. The page itself, which shows nothing by itself, is everybody's.
type Web struct {
	WebConfig
	token   string
	listen  net.Listener
	conns   *conns // those that it has accepted
	host    string // as given to listen on
	handler http.Handler

	certificate *certificate // nil: it is not encrypted
	sessions    sessions

	listing func() (json.RawMessage, error) // the topology, as it is answered

	sampling sync.Mutex
	sampler  *fabric.Sampler // guarded by sampling: of what is asked for now and then; nil: nothing has been

	busy, orders   *places
	held, watching shares
	streams        streams
}

// listenError says why nobody can listen on an address, and what to do. Who has it in use is not
// said, nor which flag it came by.
func listenError(address string, err error) error {
	host, port, _ := net.SplitHostPort(address) // the caller has
	why := err
	var lookup *net.DNSError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		why = plain.Errorf([]error{err}, "another process has this port")
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		why = plain.Errorf([]error{err},
			"this machine has no address %s: give one of its own, or 0.0.0.0 for all that it has",
			host)
	case errors.Is(err, syscall.EACCES):
		why = plain.Errorf([]error{err}, "this user may not listen on port %s: give one from 1024", port)
	case errors.As(err, &lookup):
		why = plain.Errorf([]error{err}, "host %s is not known: give an address of this machine", host)
	}
	return fmt.Errorf("listen on %q for browsers and scripts: %w", address, why)
}

// NewWeb listens on an address, as 127.0.0.1:8420. Run serves; the listener is closed with it, or
// by Close.
func NewWeb(address string, c WebConfig) (*Web, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: expected host:port, as 127.0.0.1:8420", address)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return nil, fmt.Errorf("listen on %q: port %s: expected a number from 0 to 65535, 0 for a free one", address, port)
	}
	cert, err := openCertificate(c.CertFile, c.KeyFile)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, listenError(address, err)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	w := &Web{
		WebConfig: c, token: rand.Text(), listen: l, conns: &conns{Listener: l}, host: host, certificate: cert,
		busy: newPlaces(maxBusy), orders: newPlaces(maxOrders), held: shares{limit: maxHeld},
		watching: shares{limit: maxWatching},
	}
	w.listing = c.Server.listing
	w.handler = withBusyConn(w.guard(w.mux()))
	return w, nil
}

// sample calls do with what is read now, one at a time.
func (w *Web) sample(do func(r *fabric.Reading, s *fabric.Sampler)) {
	w.sampling.Lock()
	defer w.sampling.Unlock()
	if w.sampler == nil {
		w.sampler = w.Server.fabric.NewSampler()
	}
	do(w.sampler.Read(), w.sampler)
}

// Close ends listening, unless Run has.
func (w *Web) Close() error { return w.listen.Close() }

// Token is what an order must come with.
func (w *Web) Token() string { return w.token }

// URL is where the page is, without the token.
func (w *Web) URL() string {
	addr := w.listen.Addr().(*net.TCPAddr).AddrPort()
	if addr.Addr().IsUnspecified() { // a name or address that leads here from this machine, at least
		addr = netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), addr.Port())
	}
	return w.scheme() + "://" + addr.String() + "/"
}

func (w *Web) scheme() string {
	if w.certificate != nil {
		return "https"
	}
	return "http"
}

// Encrypted reports whether what is sent is.
func (w *Web) Encrypted() bool { return w.certificate != nil }

// Loopback reports whether only this machine can reach it.
func (w *Web) Loopback() bool {
	return w.listen.Addr().(*net.TCPAddr).AddrPort().Addr().Unmap().IsLoopback()
}

// Run serves until ctx ends. Streams end at once then; other requests get a moment.
func (w *Web) Run(ctx context.Context) error {
	live, end := context.WithCancel(context.Background())
	defer end()
	srv := &http.Server{
		Handler: w.handler, ReadHeaderTimeout: headerTime, ReadTimeout: requestTime, WriteTimeout: requestTime,
		IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return live }, ConnContext: withConn,
		ErrorLog: slog.NewLogLogger(w.Log.Handler(), slog.LevelDebug),
	}
	listen := net.Listener(w.conns)
	if w.certificate != nil { // over HTTP/1.1: with HTTP/2 the bound of connections would not bound requests
		listen = tls.NewListener(listen,
			&tls.Config{GetCertificate: w.certificate.get, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}})
	}
	var looking sync.WaitGroup
	defer looking.Wait()
	looking.Go(func() { w.expel(live) })
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(listen) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve browsers and scripts: %w", err)
	case <-ctx.Done():
	}
	end()
	bounded, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	err := srv.Shutdown(bounded)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close()
	}
	<-failed
	return err
}

// guard lets through what may be: requests for this host, from our own page or from no page at all,
// or with the token.
func (w *Web) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		h := out.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		if w.Loopback() && !w.ours(r.Host) { // elsewhere a name that somebody else has lead here gets nothing without a token
			refuse(out, http.StatusForbidden,
				fmt.Errorf("host %q is not that of this server: use %s, or the address it listens on", nearest.Clip(r.Host),
					w.URL()))
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" && !w.sameOrigin(origin, r.Host) && !w.known(r) {
			refuse(out, http.StatusForbidden,
				fmt.Errorf("a page of %s may not use this fabric without its token: take the address that fabricd up has printed",
					nearest.Clip(origin)))
			return
		}
		if embedded(r) && !w.known(r) {
			refuse(out, http.StatusForbidden, errors.New("a page of somebody else may not embed what is here, nor keep a "+
				"viewer's place: open the address that fabricd up has printed"))
			return
		}
		next.ServeHTTP(out, r)
	})
}

// embedded reports whether a browser says that a page of somebody else asks for a part of itself,
// as a picture: such a request has no Origin, and one for the stream would last. Links may lead
// here.
func embedded(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return (site == "cross-site" || site == "same-site") && r.Header.Get("Sec-Fetch-Dest") != "document"
}

// ours reports whether a request names this server. A page of somebody else can have its own name
// lead here, but not an address.
func (w *Web) ours(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if strings.EqualFold(name, "localhost") || strings.EqualFold(name, w.host) && w.host != "" {
		return true
	}
	own := w.listen.Addr().(*net.TCPAddr).AddrPort().Addr().Unmap()
	if addr, err := netip.ParseAddr(name); err == nil {
		return addr.Unmap().IsLoopback() || addr.Unmap() == own || own.IsUnspecified()
	}
	machine, err := os.Hostname()
	return err == nil && own.IsUnspecified() && strings.EqualFold(name, machine)
}

func (w *Web) sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Scheme == w.scheme() && strings.EqualFold(u.Host, host)
}

// known reports whether a request comes with a token.
func (w *Web) known(r *http.Request) bool {
	return w.bearer(r).role != 0
}
