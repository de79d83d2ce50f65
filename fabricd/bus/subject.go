package bus

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/wire"
)

// MaxShards bounds the shards of one fabric, those of all its hosts together.
const MaxShards = 256

// MaxConnections bounds the shards, and so the connections, of one transport: more do not pay on
// the machines this runs on.
const MaxConnections = 4

const (
	root    = "weft"
	agents  = "agent" // stands where the name of a fabric does, so that no fabric is called so
	maxVerb = 64      // bytes
)

// SubjectKind says what a subject carries.
type SubjectKind uint8

// The kinds of subject. The zero value is none.
const (
	SubjectLink    SubjectKind = iota + 1 // frames of one directed link
	SubjectControl                        // requests to the fabric
	SubjectEvent                          // what the fabric tells
	SubjectSwitch                         // between the fabric and a switch that is a process of its own
	SubjectManage                         // what the subnet manager asks of the fabric
	SubjectAgent                          // requests to the agent of a host, whatever the fabric
	SubjectRenewal                        // new credentials for a user who runs
)

// Subject is a parsed NATS subject. Subjects are built and parsed in this file only:
//
//	weft.<fabric>.l.<from>.<to>.<node>.<port>   SubjectLink, named by its sending end, whose shard is from; a '.' in the node's name is a '_' here
//	weft.<fabric>.l.<from>.<to>.~.0             hellos of many links, see hellos.go
//	weft.<fabric>.ctl.<verb>                    SubjectControl; the verb may have several tokens
//	weft.<fabric>.mgr.<verb>                    SubjectManage; likewise
//	weft.<fabric>.ev.<kind>                     SubjectEvent; likewise
//	weft.<fabric>.sw.<node>.do.<verb>           SubjectSwitch, the fabric asks the process; the node as in links, the verb as in control
//	weft.<fabric>.sw.<node>.tell.<kind>         SubjectSwitch with Tell, the process tells the fabric
//	weft.agent.<node>.<verb>                    SubjectAgent; the agent's name as a node in links, the verb as in control
//	weft.<fabric>.auth.<node>.<verb>            SubjectRenewal; the user's name as a node in links, the verb as in control
//
// The two shards let a host of a fabric, which has shards of its own, hear all that is sent to it
// with one wildcard each, and keep it to them, however many links it has.
type Subject struct {
	Kind   SubjectKind
	Fabric string // empty for SubjectAgent
	Shard  int    // SubjectLink: that of the sender, 0 to MaxShards-1
	To     int    // SubjectLink: that of the receiver, likewise
	// Node is the sender of a SubjectLink, the process of a SubjectSwitch, the agent of a
	// SubjectAgent and the user of a SubjectRenewal.
	Node  string
	Port  weft.PortID // SubjectLink: the sender's port, below weft.MaxPorts
	Verb  string      // SubjectControl and SubjectSwitch: the verb; SubjectEvent and Event: the kind
	Event bool        // SubjectSwitch: the process publishes it, else it is asked
}

// Validate gives an error that wraps ErrName when s would not survive String and ParseSubject.
func (s Subject) Validate() error {
	if s.Kind == SubjectAgent {
		return errors.Join(ValidateAgent(s.Node), validateVerb(s.Verb))
	}
	if err := ValidateFabric(s.Fabric); err != nil {
		return err
	}
	switch s.Kind {
	case SubjectLink:
		if s.Shard < 0 || s.Shard >= MaxShards || s.To < 0 || s.To >= MaxShards {
			return fmt.Errorf("bus: shards %d and %d, want 0 to %d: %w", s.Shard, s.To, MaxShards-1, wire.ErrName)
		}
		if s.Port >= weft.MaxPorts {
			return fmt.Errorf("bus: port %d of node %q, want 0 to %d: %w", s.Port, s.Node, weft.MaxPorts-1, wire.ErrName)
		}
		return wire.ValidateNode(s.Node)
	case SubjectControl, SubjectEvent, SubjectManage:
		return validateVerb(s.Verb)
	case SubjectSwitch, SubjectRenewal:
		return errors.Join(wire.ValidateNode(s.Node), validateVerb(s.Verb))
	}
	return fmt.Errorf("bus: subject of no kind: %w", wire.ErrName)
}

// String builds the subject. s must be valid.
func (s Subject) String() string {
	switch s.Kind {
	case SubjectLink:
		return linksBetween(s.Fabric, s.Shard, s.To) + nodeToken(s.Node) + "." + strconv.Itoa(int(s.Port))
	case SubjectControl:
		return root + "." + s.Fabric + ".ctl." + s.Verb
	case SubjectManage:
		return root + "." + s.Fabric + ".mgr." + s.Verb
	case SubjectEvent:
		return root + "." + s.Fabric + ".ev." + s.Verb
	case SubjectSwitch:
		if s.Event {
			return switchPrefix(s.Fabric, s.Node) + tells + s.Verb
		}
		return switchPrefix(s.Fabric, s.Node) + does + s.Verb
	case SubjectAgent:
		return agentPrefix(s.Node) + "." + s.Verb
	case SubjectRenewal:
		return root + "." + s.Fabric + ".auth." + nodeToken(s.Node) + "." + s.Verb
	}
	return ""
}

// ParseSubject parses a subject that String built and nothing else. Errors wrap ErrName.
func ParseSubject(subject string) (Subject, error) {
	var s Subject
	bad := func(why string) (Subject, error) {
		return Subject{}, fmt.Errorf("bus: subject %.128q: %s: %w", subject, why, wire.ErrName)
	}
	tokens := strings.SplitN(subject, ".", 4)
	if len(tokens) < 4 || tokens[0] != root {
		return bad("want weft.<fabric>.<l|ctl|mgr|ev|sw|auth>.<...>")
	}
	s.Fabric = tokens[1]
	switch rest := tokens[3]; {
	case s.Fabric == agents:
		s = Subject{Kind: SubjectAgent, Node: nodeOf(tokens[2]), Verb: rest}
	case tokens[2] == "l":
		link := strings.Split(rest, ".")
		if len(link) != 4 {
			return bad("want <from>.<to>.<node>.<port> after l")
		}
		var n [3]uint64
		for i, token := range []string{link[0], link[1], link[3]} {
			var err error
			if n[i], err = strconv.ParseUint(token, 10, 16); err != nil {
				return bad("shards and port must be numbers")
			}
		}
		s.Kind, s.Shard, s.To, s.Port = SubjectLink, int(n[0]), int(n[1]), weft.PortID(n[2])
		s.Node = nodeOf(link[2])
	case tokens[2] == "ctl":
		s.Kind, s.Verb = SubjectControl, rest
	case tokens[2] == "mgr":
		s.Kind, s.Verb = SubjectManage, rest
	case tokens[2] == "ev":
		s.Kind, s.Verb = SubjectEvent, rest
	case tokens[2] == "sw":
		side := strings.SplitN(rest, ".", 3)
		if len(side) != 3 || side[1] != "do" && side[1] != "tell" {
			return bad("want <node>.do.<verb> or <node>.tell.<kind> after sw")
		}
		s.Kind, s.Node, s.Event, s.Verb = SubjectSwitch, nodeOf(side[0]), side[1] == "tell", side[2]
	case tokens[2] == "auth":
		user, verb, _ := strings.Cut(rest, ".")
		s.Kind, s.Node, s.Verb = SubjectRenewal, nodeOf(user), verb
	default:
		return bad("want l, ctl, mgr, ev, sw or auth as the third token")
	}
	if err := s.Validate(); err != nil {
		return bad(err.Error())
	}
	if s.String() != subject { // a port with leading zeros
		return bad("not in canonical form, " + s.String())
	}
	return s, nil
}

// ShardOf is the shard that a node is in, of shards in all. It depends on nothing else, so that all
// processes of a fabric agree; FNV-1a, because it spreads short names well.
func ShardOf(node string, shards int) int {
	h := uint32(2166136261)
	for i := range len(node) {
		h = (h ^ uint32(node[i])) * 16777619
	}
	return int(h>>16^h) & 0xffff % max(shards, 1)
}

// The two sides of SubjectSwitch.
const (
	does  = ".do."
	tells = ".tell."
)

func switchPrefix(fabric, node string) string { return root + "." + fabric + ".sw." + nodeToken(node) }

func agentPrefix(name string) string { return root + "." + agents + "." + nodeToken(name) }

// nodeToken is a node's name as one token of a subject, and nodeOf undoes it: no valid name has a
// '_'.
func nodeToken(node string) string { return strings.ReplaceAll(node, ".", "_") }
func nodeOf(token string) string   { return strings.ReplaceAll(token, "_", ".") }

// Wildcards. Each belongs to one fabric.
func allOf(fabric string) string      { return root + "." + fabric + ".>" }
func allControl(fabric string) string { return root + "." + fabric + ".ctl.>" }
func allManage(fabric string) string  { return root + "." + fabric + ".mgr.>" }
func allReads(fabric string) string   { return root + "." + fabric + ".ctl.get.>" }
func allEvents(fabric string) string  { return root + "." + fabric + ".ev.>" }
func allLinks(fabric string) string   { return root + "." + fabric + ".l.>" }
func allHellos(fabric string) string  { return root + "." + fabric + ".l.*.*." + string(anyHello) }
func allHostEvents(fabric string) string {
	return root + "." + fabric + ".sw.*" + tells + ">"
}
func hostEventsOf(fabric, node string) string { return switchPrefix(fabric, node) + tells + ">" }
func asksOf(fabric, node string) string       { return switchPrefix(fabric, node) + does + ">" }

// allFromShard and allToShard are the subjects of all links from the nodes of a shard, and to them.
func allFromShard(fabric string, shard int) string {
	return root + "." + fabric + ".l." + strconv.Itoa(shard) + ".>"
}

func allToShard(fabric string, shard int) string {
	return root + "." + fabric + ".l.*." + strconv.Itoa(shard) + ".>"
}

// anyShard is the subject of a port, whatever the shards of the fabric are.
func anyShard(fabric, node string, port weft.PortID) string {
	return root + "." + fabric + ".l.*.*." + nodeToken(node) + "." + strconv.Itoa(int(port))
}

// allFrom is everything that a node of a shard sends to those of another.
func allFrom(fabric string, from, to int, node string) string {
	return linksBetween(fabric, from, to) + nodeToken(node) + ".>"
}

// linksBetween begins the subject of all links from the nodes of a shard to those of another.
func linksBetween(fabric string, from, to int) string {
	return root + "." + fabric + ".l." + strconv.Itoa(from) + "." + strconv.Itoa(to) + "."
}

// noNode stands where the node does in the subjects of answers of those that are none, and of
// hellos of many links. No node is called so.
const noNode = "~"

// Answers arrive below the asker's inbox at <inbox>.<asker>.<node>.<number>: the node is in there
// so that a host can be kept to answering for itself.
func answerTo(inbox, requester, node string, number uint64) string {
	return inbox + "." + requester + "." + nodeToken(node) + "." + strconv.FormatUint(number, 10)
}
func allAnswers(inbox, requester string) string { return inbox + "." + requester + ".*.*" }
func allAnswersOf(inbox, node string) string    { return inbox + ".*." + nodeToken(node) + ".*" }

// noLink is a subject nothing is ever published on.
func noLink(fabric string) string { return root + "." + fabric + ".none" }

// ValidateFabric checks the name of a fabric, [a-z0-9][a-z0-9-]{0,31} but agent. Errors wrap
// ErrName.
func ValidateFabric(name string) error {
	ok := len(name) >= 1 && len(name) <= 32 && name[0] != '-'
	for i := 0; ok && i < len(name); i++ {
		ok = lower(name[i]) || digit(name[i]) || name[i] == '-'
	}
	if !ok {
		return fmt.Errorf("bus: fabric name %.64q: want 1 to 32 of a-z, 0-9 and '-', not beginning with '-': %w", name,
			wire.ErrName)
	}
	if name == agents {
		return fmt.Errorf("bus: fabric name %q: subjects of the agents of hosts begin so, choose another: %w", name,
			wire.ErrName)
	}
	return nil
}

// ValidateAgent checks the name of a host's agent, which is that of a node. Errors wrap ErrName.
func ValidateAgent(name string) error {
	if err := wire.ValidateNode(name); err != nil {
		return fmt.Errorf("bus: agent name %.80q: want 1 to %d of A-Z, a-z, 0-9, '.' and '-': %w", name, wire.MaxName,
			wire.ErrName)
	}
	return nil
}

func validateVerb(verb string) error {
	ok := len(verb) >= 1 && len(verb) <= maxVerb
	for token := range strings.SplitSeq(verb, ".") {
		ok = ok && token != "" && lower(token[0])
		for i := 0; ok && i < len(token); i++ {
			ok = lower(token[i]) || digit(token[i]) || token[i] == '-'
		}
	}
	if !ok {
		return fmt.Errorf("bus: verb %.80q: want at most %d bytes of words like get.status: %w", verb, maxVerb, wire.ErrName)
	}
	return nil
}

func lower(c byte) bool { return c >= 'a' && c <= 'z' }
func digit(c byte) bool { return c >= '0' && c <= '9' }
