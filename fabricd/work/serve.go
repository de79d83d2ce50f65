package work

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A Server is the engine of a process that computes single pieces for another, which asks for them
// one after the other: [Request] by [Request] on its standard input, [Answer] by Answer on its
// output. The process runs the command that has the job, as whoever gave the order does.
type Server struct {
	asks    chan Request // closed when no more come
	out     *json.Encoder
	gone    error          // why asks was closed; read after that
	pending *Request       // one that is for the next job
	ended   map[string]int // by key of the pieces that ended jobs before, their number
}

// Request asks for a piece.
type Request struct {
	Key  string `json:"key"`
	Part string `json:"part,omitempty"` // see [Job]
	Ends []End  `json:"ends,omitempty"`
}

// End is a result that ended a job, after which the command began another.
type End struct {
	Key    string `json:"key"`
	Result []byte `json:"result"`
}

// Answer is a result, or the error of the piece.
type Answer struct {
	Result []byte `json:"result,omitempty"`
	Sum    []byte `json:"sum,omitempty"` // of what of the result is the same whoever computes it
	Error  string `json:"error,omitempty"`
}

// ErrServed ends the command when nobody asks any more.
var ErrServed = errors.New("work: nobody asks for pieces any more")

// NewServer serves whoever writes to in and reads out. gone is called when in has ended.
func NewServer(in io.Reader, out io.Writer, gone func()) *Server {
	s := &Server{asks: make(chan Request), out: json.NewEncoder(out), ended: map[string]int{}}
	go func() { // ends with in, as the process does
		d := json.NewDecoder(in)
		for {
			var r Request
			if s.gone = d.Decode(&r); s.gone != nil {
				gone()
				close(s.asks)
				return
			}
			s.asks <- r
		}
	}()
	return s
}

// Run implements [Engine]: it computes what it is asked for, and merges nothing but what ends a
// job.
func (s *Server) Run(ctx context.Context, j *Job) error {
	index := make(map[string]int, j.Count)
	add := func() {
		for i := len(index); i < j.Count; i++ {
			index[j.Piece(i).Key] = i
		}
	}
	add()
	for {
		r := s.pending
		if s.pending = nil; r == nil {
			next, ok := <-s.asks
			if !ok {
				return ErrServed
			}
			r = &next
		}
		if r.Part != j.Part {
			s.pending = r
			return &Elsewhere{r.Part}
		}
		if n := len(s.ended); len(r.Ends) > n {
			end := r.Ends[n]
			i, ok := index[end.Key]
			if !ok {
				return s.strange(end.Key)
			}
			s.ended[end.Key] = n
			err := j.Merge(i, end.Result)
			if err == nil {
				return fmt.Errorf("work: piece %s ends no job here: %w", end.Key, errOther)
			}
			if s.pending = r; errors.Is(err, ErrEnough) {
				err = nil
			}
			return err
		}
		i, ok := index[r.Key]
		for !ok && j.More != nil && j.More() {
			add()
			i, ok = index[r.Key]
		}
		if !ok {
			return s.strange(r.Key)
		}
		if err := s.out.Encode(s.answer(ctx, j, i)); err != nil {
			return err
		}
	}
}

var errOther = errors.New("this program, or a file that it reads, is not that of whoever gave the order")

// strange answers a request for a piece that this job does not have.
func (s *Server) strange(key string) error {
	err := fmt.Errorf("work: there is no piece %s: %w", key, errOther)
	return errors.Join(err, s.out.Encode(Answer{Error: err.Error()}))
}

func (s *Server) answer(ctx context.Context, j *Job, i int) Answer {
	result, err := j.Run(ctx, 0, i)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	plain := result
	if j.Plain != nil {
		plain = j.Plain(result)
	}
	sum := sha256.Sum256(plain)
	return Answer{Result: result, Sum: sum[:]}
}

type engineKey struct{}

// With is ctx for a command whose pieces that engine runs.
func With(ctx context.Context, e Engine) context.Context {
	return context.WithValue(ctx, engineKey{}, e)
}

// From is the engine of a context, nil for one that has none.
func From(ctx context.Context) Engine {
	e, _ := ctx.Value(engineKey{}).(Engine)
	return e
}
