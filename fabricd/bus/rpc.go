package bus

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/document/plain"
	"github.com/weft-fabric/weft/fabricd/reply"
)

// Protocol is the version of what leaders, hosts and managers say to each other. It changes with
// every change that a process of before would misunderstand.
const Protocol = 5

// Build says which program takes part in a fabric.
type Build struct {
	Protocol int    `json:"protocol"`
	Revision string `json:"revision,omitempty"` // of the source; empty: unknown
}

// String is a semantic version, as 1.0.0+0123456789ab.
func (b Build) String() string {
	s := strconv.Itoa(b.Protocol) + ".0.0"
	if b.Revision != "" {
		// The build part of a semantic version has no '+' of its own, which a revision with changes
		// has.
		s += "+" + strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '.' {
				return r
			}
			return '-'
		}, b.Revision)
	}
	return s
}

// parseBuild undoes String. What is no version is Build{}.
func parseBuild(s string) (b Build) {
	version, revision, _ := strings.Cut(s, "+")
	n, err := strconv.Atoi(strings.TrimSuffix(version, ".0.0"))
	if err != nil {
		return Build{}
	}
	return Build{n, plain.Text(revision)}
}

// Fits gives an error with both versions when a program of another version must not take part in
// the same fabric. Two revisions may forward differently, and then nobody could say what the fabric
// has shown.
func (b Build) Fits(who string, other Build) error {
	same := parseBuild(b.String()).Revision == parseBuild(other.String()).Revision
	if b.Protocol == other.Protocol && (same || b.Revision == "" || other.Revision == "") {
		return nil
	}
	version := "version " + other.String()
	if other.Protocol == 0 {
		version = "an older version that does not say which"
	}
	return fmt.Errorf("%s is of %s, and this fabricd of %v: run the same version on all hosts", who, version, b)
}

// Headers of requests and answers. A request without any is one of the nats command, say.
const (
	headerBuild = "Weft-Build" // of who sends
	headerFrom  = "Weft-From"  // who asks: program, process and host
	headerChunk = "Weft-Chunk" // the message is a chunk: the id of the whole, its number from 0, how many there are
	headerNext  = "Weft-Next"  // asks for a chunk of an answer: its id and number
)

// Requester is the process that sent a request, as the process describes itself.
type Requester struct {
	Name  string // program, process and host; empty: it does not say
	Build Build  // zero: it does not say, as the nats command
}

func requesterIn(h nats.Header) Requester {
	return Requester{plain.Text(h.Get(headerFrom)), parseBuild(h.Get(headerBuild))}
}

type requesterKey struct{}

// RequesterOf is the process that sent the request of a handler with this context.
func RequesterOf(ctx context.Context) Requester {
	a, _ := ctx.Value(requesterKey{}).(Requester)
	return a
}

// errBusy says that the request was not taken, since too many wait: [Call] asks again. It is no
// refusal. A host that was stopped for a while has such a backlog when it goes on, and must not
// count as lost for that.
var errBusy = reply.Code{Name: "busy", Text: "it is busy: ask again"}

// who is asked, in the words of errors.
func (s Subject) who() string {
	switch s.Kind {
	case SubjectSwitch:
		return fmt.Sprintf("switch %q of fabric %q", s.Node, s.Fabric)
	case SubjectAgent:
		return "agent " + s.Node
	case SubjectRenewal:
		return "user " + nodeToken(s.Node)
	}
	return fmt.Sprintf("fabric %q", s.Fabric)
}

// role is the kind of process that is asked, in the words of errors.
func (k SubjectKind) role() string {
	switch k {
	case SubjectSwitch:
		return "switch process"
	case SubjectAgent:
		return "agent"
	case SubjectRenewal:
		return "process"
	}
	return "fabric"
}

// text reports whether what is said on subjects of the kind is JSON: for people to read and write
// with the nats command, or for processes of several versions. The rest is msgpack between
// processes of one [Protocol].
func (k SubjectKind) text() bool {
	return k == SubjectControl || k == SubjectEvent || k == SubjectRenewal
}

// encode gives nothing for nil.
func (k SubjectKind) encode(v any) ([]byte, error) {
	if k.text() {
		return json.Marshal(v)
	}
	var b bytes.Buffer
	e := msgpack.NewEncoder(&b)
	e.UseArrayEncodedStructs(true)
	e.UseCompactInts(true)
	err := e.Encode(v)
	return b.Bytes(), err
}

// decode leaves v as it is when it has no place for data, or is a pointer and there is none.
func (k SubjectKind) decode(data []byte, v any) error {
	switch to := v.(type) {
	case *struct{}:
		return nil
	case *json.RawMessage:
		*to = data
		return nil
	}
	if len(data) == 0 {
		if reflect.TypeOf(v).Elem().Kind() == reflect.Pointer {
			return nil
		}
		return io.ErrUnexpectedEOF
	}
	if k.text() {
		return json.Unmarshal(data, v)
	}
	if err := checkLengths(data); err != nil {
		return err
	}
	r := bytes.NewReader(data)
	if err := msgpack.NewDecoder(r).Decode(v); err != nil {
		return err
	}
	if r.Len() > 0 {
		return fmt.Errorf("%d bytes follow", r.Len())
	}
	return nil
}

// Malformed says what is wrong with a request, in words of JSON and not of Go.
func Malformed(err error) error {
	var other *json.UnmarshalTypeError
	switch {
	case errors.As(err, &other) && other.Field == "":
		err = fmt.Errorf("a JSON %s instead of an object", other.Value)
	case errors.As(err, &other):
		err = fmt.Errorf("%s cannot be a JSON %s: expected %s", other.Field, other.Value, document.Describe(other.Type))
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("the JSON ends too early")
	}
	return fmt.Errorf("malformed request: %w", err)
}

// failure is how an error travels, beside the headers of NATS services.
type failure struct {
	Error string `json:"error"`
}

// refusal is the error that an answer is, nil when it is none.
func (s Subject) refusal(msg *nats.Msg) error {
	code := msg.Header.Get(micro.ErrorCodeHeader)
	if code == "" && (!s.Kind.text() || msg.Header.Get(headerBuild) != "") {
		return nil
	}
	var f failure // a fabric of before says it by the body alone; other answers need not be objects
	if err := json.Unmarshal(msg.Data, &f); code == "" && (err != nil || f.Error == "") {
		return nil
	}
	text := cmp.Or(f.Error, msg.Header.Get(micro.ErrorHeader))
	return plain.Errorf([]error{reply.ErrRefused, travelled(code)}, "the %s refuses: %s", s.Kind.role(),
		plain.Text(text))
}

// travelled is the name of a [reply.Code] that has come here.
type travelled string

// Error implements error.
func (t travelled) Error() string { return string(t) }

// Is reports whether target is the Code of that name.
func (t travelled) Is(target error) bool {
	c, ok := target.(reply.Code)
	return ok && c.Name == string(t)
}
