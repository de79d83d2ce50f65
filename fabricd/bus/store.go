package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weft-fabric/weft/fabricd/document/plain"
	"github.com/weft-fabric/weft/fabricd/reply"
)

// Errors of a [Store], beside those of package reply.
var (
	// ErrNoStore means that the broker keeps nothing for us: it runs without JetStream, or, when
	// the error wraps reply.ErrDenied too, it does not let us use it.
	ErrNoStore = errors.New("the broker keeps nothing")
)

// NoStoreHelp says what to switch on where the error wraps ErrNoStore.
const NoStoreHelp = "start nats-server with -js, or with jetstream {store_dir: \"...\"} in its configuration; " +
	"where it has accounts, with jetstream: enabled in that of the user"

// maxStore bounds what the broker keeps of one fabric; chosen by us.
const maxStore = 256 << 20

// bucketOf is the bucket of a fabric.
func bucketOf(fabric string) string { return root + "-" + fabric }

// storeSubjects are those that a store needs to publish on, and no more of JetStream.
func storeSubjects(fabric string) []string {
	bucket := bucketOf(fabric)
	stream := "KV_" + bucket
	return []string{
		"$KV." + bucket + ".>", "$JS.API.INFO",
		"$JS.API.STREAM.INFO." + stream, "$JS.API.STREAM.CREATE." + stream, "$JS.API.DIRECT.GET." + stream +
			".>", "$JS.API.STREAM.MSG.GET." + stream,
	}
}

// StoreConfig says where the store of a fabric is. Fabric and URL are required.
type StoreConfig struct {
	Fabric      string
	URL         string
	Credentials Credentials
	Existing    bool // do not make a bucket where there is none: the error wraps reply.ErrNoKey
}

// Store is a bucket of keys and values on the broker, one for each fabric, in which its subnet
// manager keeps what the next one must know: a JetStream key-value bucket. A write that has
// returned survives whoever made it. Methods may be called concurrently.
type Store struct {
	conn   *conn
	kv     jetstream.KeyValue
	copies int           // servers that keep it
	done   chan struct{} // closed by nats.go after its last callback
}

// OpenStore connects and makes the bucket if there is none. The error wraps ErrNoStore when the
// broker has no JetStream. The caller closes it, before the broker.
func OpenStore(ctx context.Context, cfg StoreConfig) (*Store, error) {
	if err := ValidateFabric(cfg.Fabric); err != nil {
		return nil, err
	}
	return openStore(ctx, storeWhat{
		name: fmt.Sprintf("store of fabric %q", cfg.Fabric), program: "fabric-" + cfg.Fabric + "-store", url: cfg.URL,
		credentials: cfg.Credentials, subjects: storeSubjects(cfg.Fabric), room: maxStore / 2,
		open: func(ctx context.Context, s *Store, js jetstream.JetStream) error {
			return s.open(ctx, js, jetstream.KeyValueConfig{
				Bucket: bucketOf(cfg.Fabric), Description: "state of fabric " + cfg.Fabric, History: 1, MaxBytes: maxStore / 2,
				Replicas: copies,
			}, cfg.Existing)
		},
	})
}

// storeWhat is what is opened on a broker's JetStream.
type storeWhat struct {
	name, program, url string
	credentials        Credentials
	subjects           []string // that it publishes on
	room               int64    // bytes that it may take
	open               func(ctx context.Context, s *Store, js jetstream.JetStream) error
}

func openStore(ctx context.Context, w storeWhat) (*Store, error) {
	s := &Store{done: make(chan struct{})}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var err error
	s.conn, err = connect(nil, w.url, w.credentials, []nats.Option{
		nats.Name(root + "-" + w.program), nats.MaxReconnects(-1), nats.ClosedHandler(func(*nats.Conn) { close(s.done) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { // what is denied gets no answer
			if errors.Is(err, nats.ErrPermissionViolation) {
				cancel(w.denied(err))
			}
		}),
	})
	if err != nil {
		return nil, fmt.Errorf("bus: %s: %w", w.name, err)
	}
	js, err := jetstream.New(s.conn.Conn)
	if err == nil {
		err = w.open(ctx, s, js)
	}
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err,
		jetstream.ErrJetStreamNotEnabledForAccount), errors.Is(err, nats.ErrNoResponders):
		err = fmt.Errorf("%w: it runs without JetStream", ErrNoStore)
	case hasCode(err, noRoom):
		err = fmt.Errorf("the broker has no room for the %d MiB that it may take: make some where its store_dir is, or "+
			"raise max_file_store: %w", w.room>>20, err)
	case err != nil && errors.Is(context.Cause(ctx), reply.ErrDenied):
		err = context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		err = plain.Errorf([]error{err},
			"the broker's JetStream does not answer: see that its servers run, and of a cluster more than half")
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("bus: %s: %w", w.name, err)
	}
	return s, nil
}

// denied says what the broker does not let us do.
func (w *storeWhat) denied(violation error) error {
	what := "subscribe to the answers to its requests, below " + w.credentials.inbox()
	if !deniedSubscription(violation) {
		what = fmt.Sprintf("publish on %q", deniedSubject(violation))
	}
	return fmt.Errorf("%w for %v: %w to %s: let them publish on %s, or connect with other credentials",
		ErrNoStore, w.credentials, reply.ErrDenied, what, strings.Join(w.subjects, ", "))
}

// open finds the bucket or makes it.
func (s *Store) open(ctx context.Context, js jetstream.JetStream, cfg jetstream.KeyValueConfig, existing bool) (
	err error,
) {
	s.kv, err = js.KeyValue(ctx, cfg.Bucket)
	switch {
	case errors.Is(err, jetstream.ErrBucketNotFound) && existing:
		return reply.ErrNoKey
	case errors.Is(err, jetstream.ErrBucketNotFound):
		s.kv, err = makeBucket(ctx, js, cfg)
	}
	if err != nil {
		return err
	}
	status, err := s.kv.Status(ctx)
	if err != nil {
		return err
	}
	s.copies = status.Config().Replicas
	return nil
}

// copies is on how many servers of a cluster a bucket is kept, so that it outlives one of them;
// fewer where there are fewer.
const copies = 3

// makeBucket does not end before the broker has answered, though ctx may: a broker that is shut
// down while it makes a bucket leaves goroutines behind.
func makeBucket(ctx context.Context, js jetstream.JetStream, cfg jetstream.KeyValueConfig) (
	jetstream.KeyValue, error,
) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), makeTime)
	defer cancel()
	kv, err := js.CreateKeyValue(ctx, cfg)
	// Servers that have just found each other do not yet know that the others keep things too, and
	// a bucket that one server keeps ends with it.
	tick := time.NewTicker(joinPoll)
	defer tick.Stop()
	for until := time.Now().Add(joinTime); hasCode(err, noPeers) && time.Now().Before(until); {
		<-tick.C
		kv, err = js.CreateKeyValue(ctx, cfg)
	}
	if fewServers(err) {
		cfg.Replicas = 1
		kv, err = js.CreateKeyValue(ctx, cfg)
	}
	if errors.Is(err, jetstream.ErrBucketExists) { // somebody else was faster
		kv, err = js.KeyValue(ctx, cfg.Bucket)
	}
	return kv, err
}

// fewer are the server's errors for a stream with more copies than it can keep: it stands alone,
// there are too few others, or all have no room.
var fewer = []jetstream.ErrorCode{10074, noPeers, noRoom}

const (
	noPeers jetstream.ErrorCode = 10005
	noRoom  jetstream.ErrorCode = 10047

	full      jetstream.ErrorCode = 10077 // the stream has as much as it may
	overBytes jetstream.ErrorCode = 10023 // the server has
)

func fewServers(err error) bool { return hasCode(err, fewer...) }

func hasCode(err error, of ...jetstream.ErrorCode) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && slices.Contains(of, api.ErrorCode)
}

const (
	makeTime = 8 * time.Second // far more than a broker takes to make a bucket
	joinTime = 3 * time.Second // in which servers of a cluster get to know that the others keep things
	joinPoll = 100 * time.Millisecond
)

// Close ends the connection. Closing twice is closing once.
func (s *Store) Close() {
	s.conn.Close()
	<-s.done
}

// Get reads a key, with its revision for [Store.Update]. The error wraps reply.ErrNoKey when it is
// not there.
func (s *Store) Get(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	e, err := s.kv.Get(ctx, key)
	if err != nil {
		return nil, 0, s.error("read", key, err)
	}
	return e.Value(), e.Revision(), nil
}

// Put writes a key, whatever it holds.
func (s *Store) Put(ctx context.Context, key string, value []byte) error {
	_, err := s.kv.Put(ctx, key, value)
	return s.error("write", key, err)
}

// Create writes a key that is not there. The error wraps reply.ErrConflict when it is.
func (s *Store) Create(ctx context.Context, key string, value []byte) (revision uint64, err error) {
	revision, err = s.kv.Create(ctx, key, value)
	return revision, s.error("create", key, err)
}

// Update writes a key that still has that revision. The error wraps reply.ErrConflict when it has
// another.
func (s *Store) Update(ctx context.Context, key string, value []byte, last uint64) (revision uint64, err error) {
	revision, err = s.kv.Update(ctx, key, value, last)
	return revision, s.error("update", key, err)
}

// Copies is on how many servers the broker keeps this store; 1 does not outlive the loss of that
// server.
func (s *Store) Copies() int { return s.copies }

// Room is how many bytes a value may have, as the broker's limit for messages is now.
func (s *Store) Room() int { return int(room(s.conn)) }

// Delete takes a key away.
func (s *Store) Delete(ctx context.Context, key string) error {
	return s.error("delete", key, s.kv.Purge(ctx, key))
}

func (s *Store) error(do, key string, err error) error {
	var api *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrKeyNotFound), errors.Is(err, jetstream.ErrKeyDeleted):
		err = reply.ErrNoKey
	case errors.Is(err, jetstream.ErrKeyExists), errors.Is(err, jetstream.ErrKeyRevisionMismatch), errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
			api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant):
		err = reply.ErrConflict
	case hasCode(err, full, overBytes):
		err = fmt.Errorf("the broker keeps no more of them: %w", err)
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("the broker's JetStream does not answer, or does not let us: %w", err)
	}
	err = s.conn.closedErr(err)
	return fmt.Errorf("bus: %s %s in the store: %w", do, key, err)
}
