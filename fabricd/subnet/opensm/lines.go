package opensm

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// File is one that the caller opened; Name is used in errors.
type File struct {
	Name   string
	Reader io.Reader
}

const maxLine = 64 << 10 // bytes; chosen by us

// lines reads a file line by line.
type lines struct {
	name string
	scan *bufio.Scanner
	n    int    // of the line, from 1
	text string // without spaces around it
}

func linesOf(f File) *lines {
	l := &lines{name: f.Name, scan: bufio.NewScanner(f.Reader)}
	l.scan.Buffer(nil, maxLine)
	return l
}

func (l *lines) next() bool {
	if !l.scan.Scan() {
		return false
	}
	l.n++
	l.text = strings.TrimSpace(l.scan.Text())
	return true
}

// err is what ended the file, other than its end.
func (l *lines) err() error {
	if err := l.scan.Err(); err != nil {
		return document.LineError(l.name, l.n+1, "", err)
	}
	return nil
}

// fail is an error at the line.
func (l *lines) fail(format string, args ...any) error {
	return document.LineError(l.name, l.n, l.text, fmt.Errorf(format, args...))
}

// nodes finds the nodes of a graph by GUID.
type nodes struct {
	graph  *topology.Graph
	byGUID map[topology.GUID]weft.Node // of switches the GUID and that of port 0, of NICs that of the port
}

func nodesOf(g *topology.Graph) nodes {
	n := nodes{g, make(map[topology.GUID]weft.Node, len(g.Switches)+len(g.NICs))}
	for _, nic := range g.NICs {
		n.byGUID[g.Identity(nic.ID.Node()).PortGUID] = nic.ID.Node()
	}
	for _, s := range g.Switches {
		id := g.Identity(s.ID.Node())
		n.byGUID[id.PortGUID] = s.ID.Node()
		n.byGUID[id.GUID] = s.ID.Node()
	}
	return n
}

// unknown says that a GUID is nobody's.
func (n nodes) unknown(what string, g topology.GUID) error {
	return fmt.Errorf(
		"%s GUID %v is not in topology %s: give the topology that the file is of, as ibnetdiscover prints it", what, g,
		n.graph.Spec)
}

// guidAfter reads the GUID that follows a word in a line; false when there is none.
func guidAfter(text, word string) (topology.GUID, bool) {
	_, after, ok := strings.Cut(text, word+" 0x")
	if !ok {
		return 0, false
	}
	return guid("0x" + after)
}

// guid reads a GUID at the beginning of a text.
func guid(text string) (topology.GUID, bool) {
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok {
		return 0, false
	}
	end := strings.IndexFunc(digits, func(r rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF", r) })
	if end >= 0 {
		digits = digits[:end]
	}
	v, err := strconv.ParseUint(digits, 16, 64)
	return topology.GUID(v), err == nil && v != 0
}

// number reads a whole text as a number up to most: decimal, or hexadecimal with 0x.
func number(text string, most int) (int, bool) {
	base := 10
	if digits, ok := strings.CutPrefix(text, "0x"); ok {
		text, base = digits, 16
	}
	v, err := strconv.ParseUint(text, base, 31)
	return int(v), err == nil && int(v) <= most
}
