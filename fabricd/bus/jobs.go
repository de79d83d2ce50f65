package bus

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weft-fabric/weft/fabricd/reply"
)

// Names on the broker of what jobs keep there: a stream of work, a bucket of keys, one of files.
const (
	workStream = root + "-work"
	jobsBucket = root + "-jobs"
)

// Bounds of what the broker keeps of all jobs together, and how long an offer may be without a word
// of who has taken it. Chosen by us.
const (
	maxJobKeys  = 384 << 20
	maxJobFiles = 128 << 20
	maxWork     = 64 << 20
	AckWait     = 20 * time.Second
)

// Jobs is what computations on many machines need of a broker: a queue of work for each job, a
// bucket of keys that a [Store] describes, and files by hash. Methods may be called concurrently.
// While the broker is away they fail; the connection comes back by itself.
type Jobs struct {
	*Store
	js    jetstream.JetStream
	queue jetstream.Stream
	keys  jetstream.Stream
	files jetstream.ObjectStore
}

// jobSubjects are those that whoever orders and does work needs to publish on, and no more of
// JetStream.
func jobSubjects() []string {
	keys, files := "KV_"+jobsBucket, "OBJ_"+jobsBucket
	list := []string{
		workStream + ".>", "$KV." + jobsBucket + ".>", "$O." + jobsBucket + ".>", "$JS.API.INFO",
		"$JS.API.CONSUMER.MSG.NEXT." + workStream + ".>", "$JS.API.CONSUMER.MSG.NEXT." + keys + ".>",
		"$JS.ACK." + workStream + ".>", "$JS.FC." + keys + ".>", "$JS.FC." + files + ".>",
	}
	for _, s := range []string{workStream, keys, files} {
		list = append(list, "$JS.API.STREAM.*."+s, "$JS.API.STREAM.MSG.GET."+s, "$JS.API.CONSUMER.*."+s+".>")
	}
	return append(list, "$JS.API.DIRECT.GET."+keys+".>", "$JS.API.DIRECT.GET."+files+".>")
}

// JobsConfig says where. URL is required.
type JobsConfig struct {
	URL         string
	Credentials Credentials
	Program     string // names the connection, weft-<program>
	Existing    bool   // do not make what is not there: the error wraps reply.ErrNoKey
}

// OpenJobs connects and makes what is not there. The error wraps [ErrNoStore] when the broker has
// no JetStream. The caller closes it.
func OpenJobs(ctx context.Context, cfg JobsConfig) (*Jobs, error) {
	j := &Jobs{}
	s, err := openStore(ctx, storeWhat{
		name: "jobs", program: cfg.Program, url: cfg.URL, credentials: cfg.Credentials, subjects: jobSubjects(),
		room: maxJobKeys + maxJobFiles + maxWork,
		open: func(ctx context.Context, s *Store, js jetstream.JetStream) (err error) {
			j.js = js
			if err := s.open(ctx, js, jetstream.KeyValueConfig{
				Bucket: jobsBucket, Description: "jobs of Weft", History: 1, MaxBytes: maxJobKeys, Replicas: copies,
			}, cfg.Existing); err != nil {
				return err
			}
			if j.keys, err = js.Stream(ctx, "KV_"+jobsBucket); err != nil {
				return err
			}
			if j.files, err = j.makeFiles(ctx, s.copies); err != nil {
				return err
			}
			j.queue, err = j.makeQueue(ctx, s.copies)
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	j.Store = s
	return j, nil
}

func (j *Jobs) makeFiles(ctx context.Context, copies int) (jetstream.ObjectStore, error) {
	files, err := j.js.ObjectStore(ctx, jobsBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		files, err = j.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{
			Bucket: jobsBucket, Description: "files that jobs of Weft read", MaxBytes: maxJobFiles, Replicas: copies,
		})
	}
	if errors.Is(err, jetstream.ErrBucketExists) { // somebody else was faster
		files, err = j.js.ObjectStore(ctx, jobsBucket)
	}
	return files, err
}

func (j *Jobs) makeQueue(ctx context.Context, copies int) (jetstream.Stream, error) {
	queue, err := j.js.Stream(ctx, workStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		queue, err = j.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: workStream, Description: "work of Weft's jobs", Subjects: []string{workStream + ".>"},
			Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew, MaxBytes: maxWork, Replicas: copies,
		})
	}
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		queue, err = j.js.Stream(ctx, workStream)
	}
	return queue, err
}

// Keys lists the keys that match a pattern, whose words are joined by dots and may be * and, at the
// end, >.
func (j *Jobs) Keys(ctx context.Context, pattern string) (list []string, err error) {
	l, err := j.kv.ListKeysFiltered(ctx, pattern)
	if err != nil {
		return nil, j.error("list", pattern, err)
	}
	for key := range l.Keys() {
		list = append(list, key)
	}
	return list, ctx.Err()
}

// Written is a key that was written, or is there.
type Written struct {
	Key   string
	Value []byte
}

// Written returns the keys below a prefix that were written after a place in the history of the
// bucket, at most some hundred at a time, and the place after them. It waits for the first of them,
// at most so long. At place 0 it begins with those that are there.
func (j *Jobs) Written(ctx context.Context, below string, place uint64, wait time.Duration) ([]Written, uint64, error) {
	head := "$KV." + jobsBucket + "."
	cfg := jetstream.ConsumerConfig{
		AckPolicy: jetstream.AckNonePolicy, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: place + 1,
		InactiveThreshold: time.Minute, MemoryStorage: true, Replicas: 1, FilterSubject: head + below + ".>",
	}
	c, err := j.keys.CreateConsumer(ctx, cfg)
	if err != nil {
		return nil, place, j.error("read", below, err)
	}
	defer func() { // one that is left goes by itself
		_ = j.keys.DeleteConsumer(context.WithoutCancel(ctx), c.CachedInfo().Name)
	}()
	var list []Written
	for batch, err := c.Fetch(1, jetstream.FetchMaxWait(wait)); ; batch, err = c.FetchNoWait(512) {
		if err != nil {
			return list, place, j.error("read", below, err)
		}
		n := 0
		for m := range batch.Messages() {
			meta, err := m.Metadata()
			if err != nil {
				return list, place, err
			}
			n++
			place = meta.Sequence.Stream
			if op := m.Headers().Get("KV-Operation"); op == "" {
				list = append(list, Written{strings.TrimPrefix(m.Subject(), head), m.Data()})
			}
		}
		if n == 0 || len(list) >= 512 || ctx.Err() != nil {
			return list, place, ctx.Err()
		}
	}
}

// Forget deletes all keys that match a pattern, for good.
func (j *Jobs) Forget(ctx context.Context, pattern string) error {
	return j.error("forget", pattern,
		j.keys.Purge(ctx, jetstream.WithPurgeSubject("$KV."+jobsBucket+"."+pattern)))
}

// PutFile keeps a file under a name, its hash, unless it is there.
func (j *Jobs) PutFile(ctx context.Context, name string, data []byte) error {
	if _, err := j.files.GetInfo(ctx, name); err == nil {
		return nil
	}
	_, err := j.files.PutBytes(ctx, name, data)
	return j.error("keep the file", name, err)
}

// File returns a file.
func (j *Jobs) File(ctx context.Context, name string) ([]byte, error) {
	data, err := j.files.GetBytes(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		err = reply.ErrNoKey
	}
	return data, j.error("read the file", name, err)
}

// DropFile deletes a file.
func (j *Jobs) DropFile(ctx context.Context, name string) error {
	err := j.files.Delete(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		err = nil
	}
	return j.error("delete the file", name, err)
}

// Offer puts work of a job into its queue.
func (j *Jobs) Offer(ctx context.Context, job string, data []byte) error {
	_, err := j.js.Publish(ctx, workStream+"."+job, data)
	return j.error("offer work of", job, err)
}

// Work is what this process does. It says so by Alive more often than every [AckWait], or
// another process is given the work too.
type Work struct {
	Data  []byte
	Times int // it was given out, this time included
	msg   jetstream.Msg
}

// Alive says that the work goes on.
func (t *Work) Alive() error { return t.msg.InProgress() }

// Done says that the work is done: nobody is given it again. It returns when the broker knows.
func (t *Work) Done(ctx context.Context) error { return t.msg.DoubleAck(ctx) }

// Back gives the work back at once.
func (t *Work) Back() error { return t.msg.Nak() }

// Queue is that of a job.
type Queue struct {
	j   *Jobs
	job string
	c   jetstream.Consumer
}

// Queue opens the queue of a job.
func (j *Jobs) Queue(ctx context.Context, job string) (*Queue, error) {
	c, err := j.queue.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: job, FilterSubject: workStream + "." + job, AckPolicy: jetstream.AckExplicitPolicy, AckWait: AckWait,
		MaxDeliver: -1, MaxAckPending: 1 << 16,
	})
	if err != nil {
		return nil, j.error("open the queue of", job, err)
	}
	return &Queue{j, job, c}, nil
}

// Take waits for work, at most so long; nil: there is none.
func (q *Queue) Take(ctx context.Context, wait time.Duration) (*Work, error) {
	batch, err := q.c.Fetch(1, jetstream.FetchMaxWait(wait))
	if err != nil {
		return nil, q.j.error("take work of", q.job, err)
	}
	var t *Work
	for m := range batch.Messages() {
		meta, err := m.Metadata()
		if err != nil {
			return nil, q.j.error("take work of", q.job, err)
		}
		t = &Work{Data: m.Data(), Times: int(meta.NumDelivered), msg: m}
	}
	if err := batch.Error(); t == nil && err != nil && !errors.Is(err, nats.ErrTimeout) {
		return nil, q.j.error("take work of", q.job, err)
	}
	return t, ctx.Err()
}

// Length is how many offers nobody has taken, and how many are taken and not done.
func (q *Queue) Length(ctx context.Context) (waiting, taken int, err error) {
	i, err := q.c.Info(ctx)
	if err != nil {
		return 0, 0, q.j.error("look at the queue of", q.job, err)
	}
	return int(i.NumPending), i.NumAckPending, nil
}

// DropQueue takes back all work of a job that is not done, and ends its queue.
func (j *Jobs) DropQueue(ctx context.Context, job string) error {
	err := j.queue.DeleteConsumer(ctx, job)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		err = nil
	}
	if err == nil {
		err = j.queue.Purge(ctx, jetstream.WithPurgeSubject(workStream+"."+job))
	}
	return j.error("drop the queue of", job, err)
}

// Empty takes back the offers of a job that nobody has taken.
func (j *Jobs) Empty(ctx context.Context, job string) error {
	return j.error("empty the queue of", job, j.queue.Purge(ctx, jetstream.WithPurgeSubject(workStream+"."+job)))
}

// Age is how long ago a key was written, by the clock of the broker's host and ours.
func (j *Jobs) Age(ctx context.Context, key string) (time.Duration, error) {
	e, err := j.kv.Get(ctx, key)
	if err != nil {
		return 0, j.error("read", key, err)
	}
	return time.Since(e.Created()), nil
}
