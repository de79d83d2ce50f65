package bus

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// A process that runs for long is asked for the public half of a new key, and given a token for it.
//
//	weft.<fabric>.auth.<user>.offer       all processes of a user answer with an Offer
//	weft.<fabric>.auth.<user>.take.<id>   the one with that number takes a token
const (
	renewOffer = "offer"
	renewTake  = "take."
)

func renewalsOf(fabric, user string) string { return root + "." + fabric + ".auth." + user + ".>" }
func allRenewals(fabric string) string      { return root + "." + fabric + ".auth.>" }

// RenewalConfig says whose credentials can be renewed. Fabric, URL and Identity are required.
type RenewalConfig struct {
	Fabric      string
	URL         string
	Credentials Credentials // how to connect, apart from who
	Identity    *Identity
	// Issuer is that of who leads: it gets a new key to sign with, too, which is kept in
	// SignerFile.
	Issuer     *Issuer
	SignerFile string
	// Took is called when new credentials are in force, and may renew those of others, before the
	// old ones are revoked. It may be nil.
	Took func(ctx context.Context, t *Taken)
	// OnError is told of errors of the connection. It must not block. Nil ignores them.
	OnError func(error)
}

// KeepRenewed serves offers of new credentials. The caller closes it.
func KeepRenewed(cfg RenewalConfig) (*Server, error) {
	s, err := NewServer(ServerConfig{
		Fabric: cfg.Fabric, User: cfg.Identity.User(), URL: cfg.URL,
		Credentials: cfg.Identity.Credentials(cfg.Credentials),
		OnError:     cfg.OnError,
	})
	if err != nil {
		return nil, err
	}
	id := "i" + strings.ToLower(rand.Text()[:10])
	err = Handle(s, Subject{Kind: SubjectRenewal, Verb: renewTake + id},
		func(ctx context.Context, in take) (t Taken, err error) {
			if cfg.Issuer != nil {
				if err := cfg.Issuer.Take(cfg.SignerFile); err != nil {
					return t, err
				}
			}
			if err := cfg.Identity.Take(in.Token); err != nil {
				return t, err
			}
			if cfg.Took != nil {
				cfg.Took(ctx, &t)
			}
			t.Parts = t.Hosts
			return t, nil
		})
	if err == nil {
		err = Handle(s, Subject{Kind: SubjectRenewal, Verb: renewOffer},
			func(context.Context, struct{}) (o Offer, err error) {
				if o, err = cfg.Identity.Offer(); err == nil && cfg.Issuer != nil {
					o.Signer, err = cfg.Issuer.Offer()
				}
				o.ID = id
				return o, err
			})
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Times of renewals: how long the next of several processes of a user may take to answer, and what
// one process may take, with all its hosts in turn.
const (
	offerTime = time.Second
	takeTime  = 30 * time.Second
)

// Offers asks all processes of a user for what they offer. Where none answers it asks again for so
// long: one may be about to connect. The client is for the command that rotates credentials.
func (c *Client) Offers(ctx context.Context, user string, wait time.Duration) (offers []Offer, err error) {
	to := Subject{Kind: SubjectRenewal, Fabric: c.cfg.Fabric, Node: nodeOf(user), Verb: renewOffer}
	until := time.NewTimer(wait)
	defer until.Stop()
	for {
		var wrong error
		each := min(wait, offerTime)
		err := c.collect(ctx, to.String(), each, each, func(msg *nats.Msg) (enough bool) {
			var o Offer
			err := to.refusal(msg)
			if err == nil {
				err = json.Unmarshal(msg.Data, &o)
			}
			if err != nil {
				wrong = errors.Join(wrong, fmt.Errorf("bus: %s offers no new key: %w", user, err))
			}
			offers = append(offers, o)
			return false
		})
		if err = errors.Join(err, wrong); err != nil || len(offers) > 0 {
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

// GiveToken gives the process that made an offer a token for it.
func (c *Client) GiveToken(ctx context.Context, user string, o Offer, token string) (Taken, error) {
	to := Subject{Kind: SubjectRenewal, Node: nodeOf(user), Verb: renewTake + o.ID}
	if o.ID == "" || strings.Trim(o.ID, "abcdefghijklmnopqrstuvwxyz234567") != "" { // it becomes a token of a subject
		return Taken{}, fmt.Errorf("bus: %s says that it is %.20q: %w", user, o.ID, ErrToken)
	}
	ctx, cancel := context.WithTimeout(ctx, takeTime)
	defer cancel()
	t, err := Call[Taken](ctx, c, to, take{token})
	t.Hosts = max(t.Hosts, t.Parts) // an older process knows `parts` alone
	if err != nil {
		return t, fmt.Errorf("bus: new credentials for %s: %w", user, err)
	}
	return t, nil
}
