package bus

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Subjects of renewals: a process that runs for long is asked for the public half of a new key, and given a token for it.
//
//	weft.<fabric>.auth.<user>.offer       all processes of a user answer with an Offer
//	weft.<fabric>.auth.<user>.take.<id>   the one with that number takes a token
func renewalsOf(fabric, user string) string { return root + "." + fabric + ".auth." + user + ".>" }
func allRenewals(fabric string) string      { return root + "." + fabric + ".auth.>" }
func offerOf(fabric, user string) string    { return root + "." + fabric + ".auth." + user + ".offer" }

func takeOf(fabric, user, id string) string {
	return root + "." + fabric + ".auth." + user + ".take." + id
}

// RenewalConfig says whose credentials can be renewed. Fabric, URL and Identity are required.
type RenewalConfig struct {
	Fabric      string
	URL         string
	Credentials Credentials // how to connect, apart from who
	Identity    *Identity
	// Issuer is that of who leads: it gets a new key to sign with, too, which is kept in SignerFile.
	Issuer     *Issuer
	SignerFile string
	// Took is called when new credentials are in force, and may renew those of others, before the old ones are revoked. It may be nil.
	Took func(ctx context.Context, t *Taken)
	// OnError is told of errors of the connection. It must not block. Nil ignores them.
	OnError func(error)
}

// Renewal is a process's readiness to get new credentials while it runs.
type Renewal struct {
	cfg     RenewalConfig
	id      string
	conn    *conn
	closedc chan struct{} // closed by nats.go after its last callback
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	once    sync.Once
}

// KeepRenewed listens for offers of new credentials. The caller closes it.
func KeepRenewed(cfg RenewalConfig) (*Renewal, error) {
	if err := ValidateFabric(cfg.Fabric); err != nil {
		return nil, err
	}
	if cfg.Took == nil {
		cfg.Took = func(context.Context, *Taken) {}
	}
	if cfg.OnError == nil {
		cfg.OnError = func(error) {}
	}
	user := cfg.Identity.User()
	r := &Renewal{cfg: cfg, id: strings.ToLower(rand.Text()[:10]), closedc: make(chan struct{})}
	conn, err := connect(nil, cfg.URL, cfg.Identity.Credentials(cfg.Credentials), []nats.Option{
		nats.Name(root + "-" + user + "-renewal"), nats.MaxReconnects(-1),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			cfg.OnError(fmt.Errorf("bus: renewals of %s: %w", user, err))
		}),
		nats.ClosedHandler(func(*nats.Conn) { close(r.closedc) }),
	})
	if err != nil {
		return nil, fmt.Errorf("bus: renewals of %s: %w", user, err)
	}
	r.conn = conn
	r.ctx, r.cancel = context.WithCancel(context.Background())
	asks := make(chan *nats.Msg, 16) // by nats.go, which drops when it is full: one renewer asks twice
	for _, subject := range []string{offerOf(cfg.Fabric, user), takeOf(cfg.Fabric, user, r.id)} {
		if _, err = conn.ChanSubscribe(subject, asks); err != nil {
			break
		}
	}
	if err == nil {
		err = conn.FlushTimeout(connectTimeout)
	}
	r.wg.Go(func() { r.answer(asks) })
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("bus: renewals of %s: subscribe: %w", user, err)
	}
	return r, nil
}

// Close ends it and waits for what it is about.
func (r *Renewal) Close() {
	r.once.Do(func() {
		r.cancel()
		r.wg.Wait()
		r.conn.Close()
		<-r.closedc
	})
}

func (r *Renewal) answer(asks <-chan *nats.Msg) {
	for {
		select {
		case <-r.ctx.Done():
			return
		case msg := <-asks:
			if !strings.HasPrefix(msg.Reply, inboxes) { // answering elsewhere would lend our rights
				continue
			}
			var reply []byte
			if strings.HasSuffix(msg.Subject, ".offer") {
				reply = encodeReply(r.offer())
			} else {
				reply = encodeReply(r.take(msg.Data))
			}
			if err := msg.Respond(reply); err != nil {
				r.cfg.OnError(fmt.Errorf("bus: renewal: answer: %w", r.conn.closedErr(err)))
			}
		}
	}
}

func (r *Renewal) offer() (any, error) {
	o, err := r.cfg.Identity.Offer()
	if err != nil {
		return nil, err
	}
	o.ID = r.id
	if r.cfg.Issuer != nil {
		o.Signer, err = r.cfg.Issuer.Offer()
	}
	return o, err
}

func (r *Renewal) take(req []byte) (any, error) {
	var in take
	if err := json.Unmarshal(req, &in); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrToken, err)
	}
	if r.cfg.Issuer != nil {
		if err := r.cfg.Issuer.Take(r.cfg.SignerFile); err != nil {
			return nil, err
		}
	}
	if err := r.cfg.Identity.Take(in.Token); err != nil {
		return nil, err
	}
	var t Taken
	r.cfg.Took(r.ctx, &t)
	return t, nil
}

// Renewer gives processes that run new credentials. It is for the command that rotates them.
type Renewer struct {
	fabric string
	conn   *conn
}

// offerTime is how long the next of several processes of a user may take to answer.
const offerTime = time.Second

// takeTime is what one process may take, and all its parts in turn.
const takeTime = 30 * time.Second

// DialRenewer connects. The caller closes it.
func DialRenewer(fabric, url string, c Credentials) (*Renewer, error) {
	conn, err := connect(nil, url, c, []nats.Option{nats.Name(root + "-renewer"), nats.NoReconnect()})
	if err != nil {
		return nil, fmt.Errorf("bus: renew credentials of fabric %q: %w", fabric, err)
	}
	return &Renewer{fabric, conn}, nil
}

// Close ends the connection.
func (r *Renewer) Close() { r.conn.Close() }

// Offers asks all processes of a user for what they offer. Where none answers it asks again for so long: one may be about to connect.
func (r *Renewer) Offers(ctx context.Context, user string, wait time.Duration) (offers []Offer, err error) {
	until := time.NewTimer(wait)
	defer until.Stop()
	for {
		all, err := gather[struct {
			Offer
			failure
		}](ctx, r.conn, offerOf(r.fabric, user), nil, 0, min(wait, offerTime))
		for _, a := range all {
			if a.Error != "" {
				err = errors.Join(err, fmt.Errorf("bus: %s offers no new key: %s", user, a.Error))
			}
			offers = append(offers, a.Offer)
		}
		if err != nil || len(offers) > 0 {
			return offers, err
		}
		select {
		case <-until.C:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(reconnectWait):
		}
	}
}

// Give gives the process that made an offer a token for it.
func (r *Renewer) Give(ctx context.Context, user string, o Offer, token string) (t Taken, err error) {
	if o.ID == "" || strings.Trim(o.ID, "abcdefghijklmnopqrstuvwxyz234567") != "" { // it becomes a token of a subject
		return t, fmt.Errorf("bus: %s says that it is %.20q: %w", user, o.ID, ErrToken)
	}
	ctx, cancel := context.WithTimeout(ctx, takeTime)
	defer cancel()
	data, err := json.Marshal(take{token})
	if err != nil {
		return t, err
	}
	msg, err := r.conn.RequestWithContext(ctx, takeOf(r.fabric, user, o.ID), data)
	if err == nil {
		err = decodeReply(msg.Data, &t, ErrRefused)
	}
	if err != nil {
		return t, fmt.Errorf("bus: new credentials for %s: %w", user, err)
	}
	return t, nil
}
