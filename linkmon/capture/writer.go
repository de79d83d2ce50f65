package capture

import (
	"bufio"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// LinkType is LINKTYPE_USER0, for which the dissector is registered.
const LinkType layers.LinkType = 147

// maxComment bounds a comment in bytes; options have 16 bits for their length, and no list shows so
// much.
const maxComment = 4096

// Interface is one direction of a link as a file names it.
type Interface struct {
	Name        string // as s0.00->s1.00
	Description string
}

// Writer writes records to a pcapng file. Whoever made it calls Close; in between, Flush gives
// readers at the other end of a pipe what there is. Nothing is ever synced to a disk.
type Writer struct {
	ng   *pcapgo.NgWriter
	buf  []byte
	seen []Count // per interface
}

// Count is what was captured of one interface.
type Count struct {
	Packets uint64
	Missed  uint64 // packets that were not captured though they may have come through
}

// NewWriter begins a file with a section that says what it is of, and its interfaces, of which
// there is at least one.
func NewWriter(w io.Writer, application, comment string, interfaces []Interface) (*Writer, error) {
	out := &Writer{seen: make([]Count, len(interfaces))}
	for i, x := range interfaces {
		intf := pcapgo.NgInterface{Name: x.Name, Description: x.Description, LinkType: LinkType, TimestampResolution: 9}
		if i > 0 {
			if _, err := out.ng.AddInterface(intf); err != nil {
				return nil, fmt.Errorf("capture: interface %s: %w", x.Name, err)
			}
			continue
		}
		var err error
		// The buffer is taken as it is: bufio does not wrap one that is large enough.
		out.ng, err = pcapgo.NewNgWriterInterface(bufio.NewWriterSize(w, 1<<16), intf, pcapgo.NgWriterOptions{
			SectionInfo: pcapgo.NgSectionInfo{Application: application, Comment: comment},
		})
		if err != nil {
			return nil, fmt.Errorf("capture: %w", err)
		}
	}
	if out.ng == nil {
		return nil, fmt.Errorf("capture: no interface: there is nothing to capture")
	}
	return out, nil
}

// Write appends a record of an interface, with comments.
func (w *Writer) Write(i int, at time.Time, r *Record, comments ...string) error {
	w.buf = Append(w.buf[:0], r)
	length := len(w.buf)
	if r.Kind == KindPacket {
		length = max(length, int(r.Header.Size))
		w.seen[i].Packets++
	}
	for k, c := range comments {
		comments[k] = shorten(c)
	}
	return w.raw(i, at, length, comments...)
}

// raw writes what is in buf.
func (w *Writer) raw(i int, at time.Time, length int, comments ...string) error {
	err := w.ng.WritePacketWithOptions(gopacket.CaptureInfo{
		Timestamp: at, CaptureLength: len(w.buf), Length: length, InterfaceIndex: i,
	}, w.buf, pcapgo.NgPacketOptions{Comments: comments})
	if err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	return nil
}

// Missed notes that packets of an interface were not captured.
func (w *Writer) Missed(i int, packets uint64) { w.seen[i].Missed += packets }

// Flush hands over what was written.
func (w *Writer) Flush() error {
	if err := w.ng.Flush(); err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	return nil
}

// Close ends the file with what was counted on each interface between two times. It does not close
// the writer below.
func (w *Writer) Close(began, ended time.Time) error {
	for i, c := range w.seen {
		if err := w.ng.WriteInterfaceStats(i, pcapgo.NgInterfaceStatistics{
			LastUpdate: ended, StartTime: began, EndTime: ended, PacketsReceived: c.Packets + c.Missed, PacketsDropped: c.Missed,
		}); err != nil {
			return fmt.Errorf("capture: %w", err)
		}
	}
	return w.Flush()
}

// shorten cuts a comment to what an option holds, between two characters.
func shorten(s string) string {
	if len(s) <= maxComment {
		return s
	}
	end := maxComment
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
