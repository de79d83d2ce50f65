package process

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/vmihailenco/msgpack/v5"
)

// messages reads and writes messages: lines of JSON, or msgpack with its length in four bytes
// before it, the most significant first.
type messages struct {
	in     *bufio.Scanner
	out    io.Writer
	packed bool
}

func newMessages(in io.Reader, out io.Writer) *messages {
	m := &messages{in: bufio.NewScanner(in), out: out}
	m.in.Buffer(nil, MaxMessage)
	m.in.Split(m.split)
	return m
}

// split finds the first message in data, for the scanner.
func (m *messages) split(data []byte, atEnd bool) (taken int, message []byte, err error) {
	if !m.packed {
		return bufio.ScanLines(data, atEnd)
	}
	if len(data) < 4 {
		return 0, nil, nil
	}
	n := 4 + int(binary.BigEndian.Uint32(data))
	switch {
	case n > MaxMessage:
		return 0, nil, bufio.ErrTooLong
	case n > len(data):
		return 0, nil, nil
	}
	return n, data[4:n], nil
}

// read reads one message into to.
func (m *messages) read(to any) error {
	if !m.in.Scan() {
		if errors.Is(m.in.Err(), bufio.ErrTooLong) {
			return fmt.Errorf("a message of more than %d bytes", MaxMessage)
		}
		return io.EOF // whatever keeps it from saying more
	}
	var err error
	if m.packed {
		d := msgpack.NewDecoder(bytes.NewReader(m.in.Bytes()))
		d.SetCustomStructTag("json")
		d.DisallowUnknownFields(true)
		err = d.Decode(to)
	} else {
		d := json.NewDecoder(bytes.NewReader(m.in.Bytes()))
		d.DisallowUnknownFields()
		err = d.Decode(to)
	}
	if err != nil {
		return fmt.Errorf("%s, in %.80q", err, m.in.Bytes())
	}
	return nil
}

// write writes messages at once. A program that does not take them does not answer either, and
// reading says why.
func (m *messages) write(list ...any) {
	var b bytes.Buffer
	for _, v := range list {
		if !m.packed {
			_ = json.NewEncoder(&b).Encode(v)
			continue
		}
		at := b.Len()
		b.Write(make([]byte, 4))
		e := msgpack.NewEncoder(&b)
		e.SetCustomStructTag("json")
		e.UseCompactInts(true)
		_ = e.Encode(v)
		binary.BigEndian.PutUint32(b.Bytes()[at:], uint32(b.Len()-at-4))
	}
	_, _ = m.out.Write(b.Bytes())
}
