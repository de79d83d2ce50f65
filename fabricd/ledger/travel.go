package ledger

import (
	"errors"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// A fabric has thousands of sessions, and hosts tell of each ten times a second: they travel as
// numbers alone.
const (
	numbersOfFlow = 9 // of link.Flow
	numbersOfSent = 4 + numbersOfFlow
	numbersOfSide = 1 + numbersOfFlow

	numbersOfSession = 5 + 2*numbersOfSide
)

func appendFlow(list []uint64, f *link.Flow) []uint64 {
	return append(list, uint64(f.State), uint64(f.Mine), uint64(f.Peer), f.Sent, f.Received, f.Taken,
		uint64(f.LastFrom), uint64(f.LastTo), f.LastSent)
}

func flowOf(f []uint64) link.Flow {
	return link.Flow{
		State: link.State(f[0]), Mine: weft.Epoch(f[1]), Peer: weft.Epoch(f[2]), Sent: f[3], Received: f[4], Taken: f[5],
		LastFrom: weft.Epoch(f[6]), LastTo: weft.Epoch(f[7]), LastSent: f[8],
	}
}

func encodeNumbers(enc *msgpack.Encoder, list []uint64) error {
	if err := enc.EncodeArrayLen(len(list)); err != nil {
		return err
	}
	for _, n := range list {
		if err := enc.EncodeUint(n); err != nil {
			return err
		}
	}
	return nil
}

func decodeNumbers(dec *msgpack.Decoder, what string, list []uint64) error {
	n, err := dec.DecodeArrayLen()
	if err != nil || n != len(list) {
		return errors.Join(err, fmt.Errorf("%s has %d numbers, expected %d", what, n, len(list)))
	}
	for i := range list {
		if list[i], err = dec.DecodeUint64(); err != nil {
			return err
		}
	}
	return nil
}

// EncodeMsgpack implements msgpack.CustomEncoder.
func (f *Flow) EncodeMsgpack(enc *msgpack.Encoder) error {
	var room [numbersOfSent]uint64
	list := append(room[:0], uint64(f.End.Node.Kind), uint64(f.End.Node.Index), uint64(f.End.Port), uint64(f.Peer))
	return encodeNumbers(enc, appendFlow(list, &f.Flow))
}

// DecodeMsgpack implements msgpack.CustomDecoder.
func (f *Flow) DecodeMsgpack(dec *msgpack.Decoder) error {
	var list [numbersOfSent]uint64
	if err := decodeNumbers(dec, "a flow", list[:]); err != nil {
		return err
	}
	f.End = weft.End{Node: weft.Node{Kind: weft.NodeKind(list[0]), Index: uint32(list[1])}, Port: weft.PortID(list[2])}
	f.Peer, f.Flow = Incarnation(list[3]), flowOf(list[4:])
	return nil
}

// EncodeMsgpack implements msgpack.CustomEncoder.
func (s *Session) EncodeMsgpack(enc *msgpack.Encoder) error {
	var room [numbersOfSession]uint64
	list := append(room[:0], uint64(s.Channel.Node.Kind), uint64(s.Channel.Node.Index), uint64(s.Channel.Link), s.Lost[0],
		s.Lost[1])
	for i := range s.Sides {
		list = appendFlow(append(list, uint64(s.Sides[i].Incarnation)), &s.Sides[i].Flow)
	}
	return encodeNumbers(enc, list)
}

// DecodeMsgpack implements msgpack.CustomDecoder.
func (s *Session) DecodeMsgpack(dec *msgpack.Decoder) error {
	var list [numbersOfSession]uint64
	if err := decodeNumbers(dec, "a session", list[:]); err != nil {
		return err
	}
	s.Channel = Channel{Node: weft.Node{Kind: weft.NodeKind(list[0]), Index: uint32(list[1])}, Link: weft.LinkID(list[2])}
	s.Lost = [2]uint64{list[3], list[4]}
	for i := range s.Sides {
		side := list[5+i*numbersOfSide:]
		s.Sides[i] = Side{Incarnation: Incarnation(side[0]), Flow: flowOf(side[1:])}
	}
	return nil
}
