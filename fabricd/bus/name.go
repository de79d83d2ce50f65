package bus

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/weft-fabric/weft/fabricd/reply"
)

// ErrNameTaken means that another fabric of this name runs at the server.
var ErrNameTaken = errors.New("a fabric of this name runs at this server already")

// NameConfig names a fabric that is to be the only one of its name at a server that is not
// embedded. Fabric and URL are required.
type NameConfig struct {
	Fabric      string
	URL         string
	Credentials Credentials
	Host        string // of this process, for who is refused
	PID         int
	// Leads says that this process leads a fabric on agents. Who does is settled by a lease, so
	// that nobody is asked here: it only answers.
	Leads bool
}

// Name is the claim of a fabric to its name: a presence that answers whoever asks. It has a
// connection of its own, and ends with that, which is at once when the process ends, however that
// is.
type Name struct {
	conn    *conn
	me      nameOwner
	settled chan struct{} // closed when the name is ours
	closedc chan struct{} // closed by nats.go after its last callback
}

// nameOwner is the answer of a claim to the question who has the name.
type nameOwner struct {
	ID      string `json:"id"`
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	Settled bool   `json:"settled"` // else it is asking, too
}

// Chosen by us: how long a claim is waited for that somebody has and does not answer for, as of a
// process that is stopped; and for how long claims that are made at the same time are looked for,
// several times, since servers of a cluster tell each other of subscriptions.
const (
	nameAnswer = time.Second
	nameLooks  = 3
	nameLook   = 150 * time.Millisecond

	maxNameOwners = 64 // of those that answer one look
)

// nameVerb is the verb that claims answer.
const nameVerb = "get.name"

// TakeName claims the name of a fabric at a server. The error wraps ErrNameTaken when another
// fabric has it, and says which process that is. The caller closes the claim when nothing speaks on
// the subjects of the fabric any more.
func TakeName(ctx context.Context, cfg NameConfig) (*Name, error) {
	subject := Subject{Kind: SubjectControl, Fabric: cfg.Fabric, Verb: nameVerb}
	if err := subject.Validate(); err != nil {
		return nil, err
	}
	n := &Name{
		me:      nameOwner{ID: rand.Text(), Host: cfg.Host, PID: cfg.PID},
		settled: make(chan struct{}), closedc: make(chan struct{}),
	}
	denied := make(chan error, 1)
	var err error
	n.conn, err = connect(nil, cfg.URL, cfg.Credentials, []nats.Option{
		nats.Name(root + "-fabric-" + cfg.Fabric +
			"-name"), nats.MaxReconnects(-1), nats.ClosedHandler(func(*nats.Conn) { close(n.closedc) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) {
				select {
				case denied <- err:
				default:
				}
			}
		}),
	})
	if err != nil {
		return nil, fmt.Errorf("bus: name of fabric %q: %w", cfg.Fabric, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := make(chan struct{})
	defer close(stop)
	go func() { // ends with this call
		select {
		case err := <-denied:
			cancel(fmt.Errorf("%v: %w: let them publish and subscribe below %s: %w", cfg.Credentials, reply.ErrDenied,
				allOf(cfg.Fabric), err))
		case <-stop:
		}
	}()
	if err := n.take(ctx, subject.String(), cfg.Leads); err != nil {
		n.Close()
		return nil, fmt.Errorf("bus: name of fabric %q: %w", cfg.Fabric, cmp.Or(context.Cause(ctx), err))
	}
	return n, nil
}

// take asks who has the name, answers from then on, and asks who else has begun to meanwhile.
func (n *Name) take(ctx context.Context, subject string, leads bool) error {
	if !leads {
		if err := n.free(ctx, subject); err != nil {
			return err
		}
	}
	if _, err := n.conn.Subscribe(subject, n.answer); err != nil {
		return n.conn.closedErr(err)
	}
	if err := n.conn.FlushTimeout(connectTimeout); err != nil {
		return fmt.Errorf("the broker does not confirm it: %w", n.conn.closedErr(err))
	}
	for looks := 0; looks < nameLooks && !leads; {
		others, err := n.others(ctx, subject)
		if err != nil {
			return err
		}
		looks++
		for _, o := range others {
			if o.Settled || o.ID < n.me.ID {
				return o.taken()
			}
			looks = 0 // it yields to us, or has settled when it is asked again
		}
	}
	close(n.settled)
	return nil
}

// free asks who has the name.
func (n *Name) free(ctx context.Context, subject string) error {
	var answers [][]byte
	there, err := n.conn.gather(ctx, subject, nil, nameAnswer, func(data []byte) (enough bool) {
		answers = append(answers, data)
		return true
	})
	var o nameOwner
	switch {
	case err != nil:
		return err
	case !there:
		return nil
	case len(answers) == 0:
		return fmt.Errorf("%w, and does not answer: its process is stopped, or its host is gone, which the server finds "+
			"out by its ping_interval and ping_max: "+
			"end that process, or choose another name", ErrNameTaken)
	case json.Unmarshal(answers[0], &o) != nil:
		return ErrNameTaken
	}
	if !o.Settled {
		return nil // it is asking as we are
	}
	return o.taken()
}

func (o nameOwner) taken() error {
	return fmt.Errorf("%w, process %d on host %s: end it there, or choose another name", ErrNameTaken, o.PID, o.Host)
}

// others are the other claims that answer for the name.
func (n *Name) others(ctx context.Context, subject string) (list []nameOwner, err error) {
	_, err = n.conn.gather(ctx, subject, nil, nameLook, func(data []byte) (enough bool) {
		var o nameOwner
		if json.Unmarshal(data, &o) == nil && o.ID != "" && o.ID != n.me.ID {
			list = append(list, o)
		}
		return len(list) == maxNameOwners
	})
	return list, err
}

// answer is called by nats.go.
func (n *Name) answer(msg *nats.Msg) {
	if !strings.HasPrefix(msg.Reply, inboxes) {
		return // we may publish where who asks may not, on a link, say: see Control
	}
	me := n.me
	select {
	case <-n.settled:
		me.Settled = true
	default:
	}
	data, err := json.Marshal(me)
	if err == nil {
		_ = msg.Respond(data) // who asks in vain asks again
	}
}

// Close gives the name back.
func (n *Name) Close() {
	n.conn.Close()
	<-n.closedc
}
