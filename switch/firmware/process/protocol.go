package process

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// Version is that of the protocol, docs/reference/exec.md.
const Version = 1

// Bounds on what a program may say. Chosen by us, far above what any firmware needs.
const (
	MaxMessage   = 1 << 20 // bytes of one message
	maxRegisters = 64
	maxOptions   = 64
	maxText      = 256
)

// start is the first message to a program.
type start struct {
	Version int               `json:"version"`
	Options map[string]string `json:"options"`
}

// hello is its answer.
type hello struct {
	Version          int        `json:"version"`
	Error            string     `json:"error"` // what is wrong with the options
	Name             string     `json:"name"`
	About            string     `json:"about"`
	On               string     `json:"on"` // anything, trees or grids
	VCs              int        `json:"vcs"`
	MaxHops          int        `json:"max_hops"`
	Registers        []register `json:"registers"`
	Options          []option   `json:"options"`
	Reads            []string   `json:"reads"`
	DestinationBased bool       `json:"destination_based"`
	Symmetric        bool       `json:"symmetric"`
	Notifies         bool       `json:"notifies"`
	Requeue          bool       `json:"requeue"` // packets may be routed a second time, see switching.Firmware.CheckRequeue
	Format           string     `json:"format"`  // of all that follows: json or msgpack
}

type register struct {
	Name          string  `json:"name"`
	Width         int     `json:"width"`
	ExpireSeconds float64 `json:"expire_seconds"`
}

type option struct {
	Name   string `json:"name"`
	Values string `json:"values"`
	About  string `json:"about"`
}

// placeMessage tells where a switch stands, before the first question about it. One of a number that
// was told before takes the place of that.
type placeMessage struct {
	Place int       `json:"place"`
	ID    int       `json:"id"`
	Name  string    `json:"switch"`
	VCs   int       `json:"vcs"`
	Ports []port    `json:"ports"`
	Tree  *tree     `json:"tree,omitempty"`
	Grid  *gridSide `json:"grid,omitempty"`
}

type port struct {
	Role   string `json:"role"`             // as weft.Role
	Switch *int   `json:"switch,omitempty"` // at the other end
	NIC    *int   `json:"nic,omitempty"`    // at the other end
}

type tree struct {
	Tier   int   `json:"tier"`
	Tiers  int   `json:"tiers"`
	Digits []int `json:"digits"`
	Down   []int `json:"down"` // ports; -1: missing
	Up     []int `json:"up"`
	Above  int   `json:"above"`
	Below  int   `json:"below"`
	Prefix int   `json:"prefix"`
}

type gridSide struct {
	NICs int   `json:"nics"`
	Dims []dim `json:"dims"`
}

type dim struct {
	Size   int  `json:"size"`
	At     int  `json:"at"`
	Stride int  `json:"stride"`
	Wrap   bool `json:"wrap"`
}

func placeOf(number int, p *weft.Place, vcs int) placeMessage {
	m := placeMessage{Place: number, ID: int(p.Switch), Name: p.Name, VCs: vcs, Ports: make([]port, p.Ports())}
	for i := range m.Ports {
		m.Ports[i].Role = p.Roles[i].String()
		if i < len(p.Neighbours) && p.Roles[i] != weft.RoleNone {
			if n := p.Neighbours[i]; n.IsSwitch() {
				m.Ports[i].Switch = new(int(n.Index))
			} else {
				m.Ports[i].NIC = new(int(n.Index))
			}
		}
	}
	if t := p.Tree; t != nil {
		m.Tree = &tree{Tier: int(t.Tier), Tiers: t.N, Digits: t.W, Above: int(t.Above), Below: int(t.Below), Prefix: int(t.Prefix)}
		for j := range t.Down {
			m.Tree.Down = append(m.Tree.Down, number16(t.DownAt(j)))
		}
		for j := range t.Ups() {
			m.Tree.Up = append(m.Tree.Up, number16(t.Up(j)))
		}
	}
	if g := p.Grid; g != nil {
		m.Grid = &gridSide{NICs: int(g.NICs)}
		for _, d := range g.Dims {
			m.Grid.Dims = append(m.Grid.Dims, dim{int(d.Size), int(d.At), int(d.Stride), d.Wrap})
		}
	}
	return m
}

func number16(p weft.PortID) int {
	if p == weft.NoPort {
		return -1
	}
	return int(p)
}

// questions is a batch. Its answers have its number.
type questions struct {
	Batch     uint64     `json:"batch"`
	Questions []question `json:"questions"`
}

// question has the names of a question to fabricd explain. What the program does not read is left out.
type question struct {
	Place  int               `json:"place"`
	InPort int               `json:"in_port"`
	From   string            `json:"from"`
	VC     int               `json:"vc"`
	Header header            `json:"header"`
	Dead   []int             `json:"dead_ports,omitempty"`
	State  map[string]uint64 `json:"state,omitempty"`
	Queues [][3]int          `json:"queues,omitempty"` // by port*vcs+vc: room, occupancy, credits
	Random uint64            `json:"random,omitempty"`
	Now    int64             `json:"now,omitempty"` // picoseconds
}

type header struct {
	Dst       int    `json:"dst"`
	Number    *int   `json:"number,omitempty"` // that the digits of dst make, in a tree
	Src       *int   `json:"src,omitempty"`
	Seq       uint64 `json:"seq,omitempty"`
	Size      int    `json:"size,omitempty"`
	Hops      int    `json:"hops,omitempty"`
	Reroutes  int    `json:"reroutes,omitempty"`
	PortField *int   `json:"port_field,omitempty"`
	Misroute  uint64 `json:"misroute,omitempty"`
	Path      int    `json:"path,omitempty"`
	Layers    int    `json:"layers,omitempty"`
	Route     string `json:"route,omitempty"`
	Sub       string `json:"sub,omitempty"`
}

// answers is what comes for a batch.
type answers struct {
	Batch   uint64   `json:"batch"`
	Answers []answer `json:"answers"`
}

type answer struct {
	Candidates []candidate     `json:"candidates"`
	Rule       string          `json:"rule"`
	Turn       string          `json:"turn"`
	Notify     bool            `json:"notify"`
	Writes     map[string]word `json:"writes"`
}

type candidate struct {
	Port   int     `json:"port"`
	VC     int     `json:"vc"`
	Class  int     `json:"class"`
	Need   int     `json:"need"`
	Fields *fields `json:"fields"`
}

// fields are those that change.
type fields struct {
	PortField *int    `json:"port_field"`
	Misroute  *word   `json:"misroute"`
	Path      *int    `json:"path"`
	Layers    *word   `json:"layers"`
	Route     *string `json:"route"`
	Sub       *string `json:"sub"`
}

// word is up to 64 bits, as a number or as text, "0101".
type word uint64

// UnmarshalJSON implements [json.Unmarshaler].
func (w *word) UnmarshalJSON(b []byte) (err error) {
	var n uint64
	if text, quoted := strings.CutPrefix(string(b), `"`); quoted {
		n, err = strconv.ParseUint(strings.TrimSuffix(text, `"`), 2, 64)
	} else {
		n, err = strconv.ParseUint(string(b), 10, 64)
	}
	*w = word(n)
	return err
}

// DecodeMsgpack implements [msgpack.CustomDecoder].
func (w *word) DecodeMsgpack(d *msgpack.Decoder) error {
	v, err := d.DecodeInterfaceLoose()
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case uint64:
		*w = word(v)
	case int64:
		if v < 0 {
			return fmt.Errorf("found %d, expected bits", v)
		}
		*w = word(v)
	case string:
		n, err := strconv.ParseUint(v, 2, 64)
		*w = word(n)
		return err
	default:
		return fmt.Errorf("found %T, expected bits", v)
	}
	return nil
}

// errTooLong is the error of a message of more than MaxMessage bytes.
var errTooLong = fmt.Errorf("a message of more than %d bytes", MaxMessage)

// messages reads and writes messages: lines of JSON, or msgpack with its length in four bytes before
// it, the most significant first. Reading and writing may go on at the same time.
type messages struct {
	r      *bufio.Reader
	w      io.Writer
	packed bool
	in     []byte
}

// read reads one message into to. Whatever it reads, it returns; what it holds is bounded.
func (m *messages) read(to any) error {
	m.in = m.in[:0]
	if m.packed {
		var size [4]byte
		if _, err := io.ReadFull(m.r, size[:]); err != nil {
			return err
		}
		n := binary.BigEndian.Uint32(size[:])
		if n > MaxMessage {
			return errTooLong
		}
		m.in = slices.Grow(m.in, int(n))[:n]
		if _, err := io.ReadFull(m.r, m.in); err != nil {
			return err
		}
		d := msgpack.NewDecoder(bytes.NewReader(m.in))
		d.SetCustomStructTag("json")
		d.DisallowUnknownFields(true)
		return garbled(d.Decode(to), m.in)
	}
	for {
		part, err := m.r.ReadSlice('\n')
		if len(m.in)+len(part) > MaxMessage {
			return errTooLong
		}
		m.in = append(m.in, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
	d := json.NewDecoder(bytes.NewReader(m.in))
	d.DisallowUnknownFields()
	return garbled(d.Decode(to), m.in)
}

// garbled says what was found instead of a message.
func garbled(err error, found []byte) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w, in %.80q", err, bytes.TrimSpace(found))
}

// write writes messages at once.
func (m *messages) write(list ...any) error {
	var b bytes.Buffer
	for _, v := range list {
		if !m.packed {
			if err := json.NewEncoder(&b).Encode(v); err != nil {
				return err
			}
			continue
		}
		at := b.Len()
		b.Write(make([]byte, 4))
		e := msgpack.NewEncoder(&b)
		e.SetCustomStructTag("json")
		e.UseCompactInts(true)
		if err := e.Encode(v); err != nil {
			return err
		}
		binary.BigEndian.PutUint32(b.Bytes()[at:], uint32(b.Len()-at-4))
	}
	_, err := m.w.Write(b.Bytes())
	return err
}

// firmware is what h declares; the error says what of it cannot be.
func (h *hello) firmware() (f switching.Firmware, err error) {
	on, known := map[string]switching.Shape{"": switching.Anything, "anything": switching.Anything, "trees": switching.Trees, "grids": switching.Grids}[h.On]
	switch {
	case h.Version != Version:
		return f, fmt.Errorf("it speaks version %d of the protocol, expected %d: change it to what docs/reference/exec.md says", h.Version, Version)
	case h.Error != "":
		return f, fmt.Errorf("it refuses its options: %.*s", maxText, h.Error)
	case h.Name == "" || len(h.Name) > maxText || len(h.About) > maxText:
		return f, fmt.Errorf("its hello has a name of %d bytes and an about of %d, expected 1 to %d and at most that", len(h.Name), len(h.About), maxText)
	case !known:
		return f, fmt.Errorf("its hello has on=%.80q, expected anything, trees or grids", h.On)
	case h.VCs < 0 || h.VCs > weft.MaxVCs:
		return f, fmt.Errorf("its hello has vcs=%d, expected 1 to %d", h.VCs, weft.MaxVCs)
	case h.MaxHops < 0 || h.MaxHops > weft.MaxHops:
		return f, fmt.Errorf("its hello has max_hops=%d, expected 1 to %d", h.MaxHops, weft.MaxHops)
	case len(h.Registers) > maxRegisters || len(h.Options) > maxOptions:
		return f, fmt.Errorf("its hello has %d registers and %d options, expected at most %d and %d", len(h.Registers), len(h.Options), maxRegisters, maxOptions)
	case h.Format != "" && h.Format != "json" && h.Format != "msgpack":
		return f, fmt.Errorf("its hello has format=%.80q, expected json or msgpack", h.Format)
	}
	f = switching.Firmware{
		Name: h.Name, About: h.About, On: on, VCs: h.VCs, MostHops: h.MaxHops,
		DestinationBased: h.DestinationBased, Symmetric: h.Symmetric, Notifies: h.Notifies,
	}
	for _, r := range h.Reads {
		switch r {
		case "queues":
			f.Reads.Queues = true
		case "draw":
			f.Reads.Draw = true
		case "now":
			f.Reads.Now = true
		default:
			return f, fmt.Errorf("its hello reads %.80q, expected queues, draw or now", r)
		}
	}
	var registers []switching.Register
	for _, r := range h.Registers {
		if r.Name == "" || len(r.Name) > maxText || r.Width < 1 || r.Width > 64 || !(r.ExpireSeconds >= 0 && r.ExpireSeconds < 1e6) {
			return f, fmt.Errorf("its hello has register %.80q of %d bits for %v s, expected a name, 1 to 64 and a time", r.Name, r.Width, r.ExpireSeconds)
		}
		registers = append(registers, switching.Register{Name: r.Name, Width: r.Width, Expire: weft.Time(r.ExpireSeconds * float64(weft.Second))})
	}
	if registers != nil {
		f.Registers = func(*weft.Place) []switching.Register { return registers }
	}
	if h.Requeue {
		f.CheckRequeue = func(*weft.Place) error { return nil }
	}
	return f, nil
}
