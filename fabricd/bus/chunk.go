package bus

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/weft-fabric/weft/switch/wire"
)

// A request or answer that is larger than a message travels compressed and in chunks. Each chunk is
// asked for or acknowledged before the next. The bounds are chosen by us: all chunks of one request
// or answer fit into memory.
const (
	chunkRoom   = 4 << 10   // of a message, for its headers
	maxChunks   = 1 << 12   // of one request or answer
	maxPacked   = 128 << 20 // bytes of all chunks of one request or answer, and of all that wait
	maxUnderWay = 64        // requests, and answers, that have come or been fetched in part
)

// room is how many bytes a message has for its body.
func room(c *conn) int64 {
	limit := c.MaxPayload()
	return max(limit-chunkRoom, limit/4)
}

// errChunks means that a chunk does not follow the one before, as when that was lost or others have
// taken its place.
var errChunks = errors.New("chunks are missing or out of order: ask again from the first")

// chunk says which part of a whole a message is.
type chunk struct {
	id     string
	number int
	of     int
}

func (c chunk) String() string { return c.id + " " + strconv.Itoa(c.number) + " " + strconv.Itoa(c.of) }

// parseChunk undoes String.
func parseChunk(s string) (c chunk, err error) {
	f := strings.Fields(s)
	if len(f) != 3 || len(f[0]) > 64 {
		return c, errChunks
	}
	number, err1 := strconv.Atoi(f[1])
	of, err2 := strconv.Atoi(f[2])
	if err1 != nil || err2 != nil || of < 1 || of > maxChunks || number < 0 || number >= of {
		return c, errChunks
	}
	return chunk{f[0], number, of}, nil
}

// pack makes the chunks that a body travels as, of so many bytes each.
func pack(body []byte, size int64) (id string, list [][]byte, err error) {
	data, err := wire.Compress(body)
	if err != nil {
		return "", nil, err
	}
	if len(body) > wire.MaxUnfolded || len(data) > maxPacked || int64(len(data)) > size*maxChunks {
		return "", nil, fmt.Errorf("%d bytes, %d compressed, and at most %d are sent, %d compressed: send less at once",
			len(body), len(data), wire.MaxUnfolded, min(maxPacked, size*maxChunks))
	}
	return rand.Text(), slices.Collect(slices.Chunk(data, int(size))), nil
}

// transfers are requests that have come in part, or answers that have been fetched in part. The
// zero value has none.
type transfers struct {
	mu    sync.Mutex
	lists []*transfer // guarded by mu; oldest first; bound: maxUnderWay, of maxPacked bytes in all
}

type transfer struct {
	id     string
	of     int
	chunks [][]byte
	bytes  int
}

// put keeps t, and gives up the oldest where there are too many. The caller holds mu.
func (ts *transfers) put(t *transfer) {
	ts.lists = append(ts.lists, t)
	sum := 0
	for i, t := range slices.Backward(ts.lists) {
		if sum += t.bytes; sum > maxPacked || len(ts.lists)-i > maxUnderWay {
			ts.lists = slices.Delete(ts.lists, 0, i+1)
			return
		}
	}
}

// remove takes a transfer out; nil: there is none. The caller holds mu.
func (ts *transfers) remove(id string) *transfer {
	i := slices.IndexFunc(ts.lists, func(t *transfer) bool { return t.id == id })
	if i < 0 {
		return nil
	}
	t := ts.lists[i]
	ts.lists = slices.Delete(ts.lists, i, i+1)
	return t
}

// add takes a chunk that has come. With the last one packed is the whole, else nil.
func (ts *transfers) add(c chunk, data []byte) (packed []byte, err error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.remove(c.id)
	if t == nil {
		t = &transfer{id: c.id, of: c.of}
	}
	if c.of != t.of || c.number != len(t.chunks) || t.bytes+len(data) > maxPacked {
		return nil, errChunks
	}
	t.chunks, t.bytes = append(t.chunks, data), t.bytes+len(data)
	if len(t.chunks) == t.of {
		return slices.Concat(t.chunks...), nil
	}
	ts.put(t)
	return nil, nil
}

// store has chunks ready to be fetched.
func (ts *transfers) store(id string, list [][]byte) {
	t := &transfer{id: id, of: len(list), chunks: list}
	for _, c := range list {
		t.bytes += len(c)
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.put(t)
}

// fetch is one of the chunks that are kept. The last is not kept once it was fetched.
func (ts *transfers) fetch(c chunk) ([]byte, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.remove(c.id)
	if t == nil || c.of != t.of {
		return nil, errChunks
	}
	if c.number < t.of-1 {
		ts.put(t)
	}
	return t.chunks[c.number], nil
}

// none reports whether none is under way.
func (ts *transfers) none() bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return len(ts.lists) == 0
}
