package explain

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the longest line read, in bytes; a longer one is answered with an error. Chosen by us:
// a header with every member and 256 dead ports by the longest names fits many times.
const MaxLine = 1 << 20

// Tally counts what [Explainer.Lines] has answered.
type Tally struct {
	Lines int // with a question
	Bad   int // of these, those that could not be answered
}

// Lines reads one question a line from in and writes one answer a line to out, in the same order.
// What a line leaves out is as in defaults; empty lines are passed over. A line that cannot be
// answered is answered with an error, and the rest goes on. The file is named in the answers unless
// it is "". Answers are written before it waits for more input, so that another program can ask one
// question at a time. The error is that of in or out, or the cause of ctx: when it has ended the
// rest is not answered, but a read of in is not interrupted.
func (e *Explainer) Lines(
	ctx context.Context, defaults Question, file string, in io.Reader, out io.Writer,
) (t Tally, err error) {
	r := bufio.NewReaderSize(in, 1<<16)
	w := bufio.NewWriter(out)
	defer func() { err = errors.Join(err, w.Flush()) }()
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for n := 1; ; n++ {
		line, tooLong, readErr := readLine(r)
		if tooLong || len(bytes.TrimSpace(line)) > 0 {
			a := e.line(ctx, defaults, line, tooLong)
			if ctx.Err() != nil {
				return t, context.Cause(ctx)
			}
			a.File, a.Line = file, n
			t.Lines++
			if a.Error != "" {
				t.Bad++
			}
			if err := enc.Encode(a); err != nil {
				return t, err
			}
		}
		switch {
		case errors.Is(readErr, io.EOF):
			return t, nil
		case readErr != nil:
			return t, fmt.Errorf("line %d: %w", n, readErr)
		}
		if r.Buffered() == 0 {
			if err := w.Flush(); err != nil {
				return t, err
			}
		}
	}
}

// line answers the question in one line.
func (e *Explainer) line(ctx context.Context, q Question, line []byte, tooLong bool) Answer {
	if tooLong {
		return Answer{Error: fmt.Sprintf("more than %d bytes in one line", MaxLine)}
	}
	err := q.Decode(line)
	var d *Decision
	if err == nil {
		d, err = e.Explain(ctx, q)
	}
	if err != nil {
		return Answer{ID: q.ID, Error: err.Error()}
	}
	return Answer{ID: q.ID, Decision: d}
}

// readLine reads a line without its end, at most MaxLine bytes of it; the rest of a longer one is
// passed over.
func readLine(r *bufio.Reader) (line []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > MaxLine+1 {
			tooLong, line = true, nil
		}
		if !tooLong {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSuffix(line, []byte("\n")), tooLong, err
		}
	}
}
