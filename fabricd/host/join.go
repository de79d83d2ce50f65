package host

import "github.com/weft-fabric/weft/fabricd/reply"

// JoinRequest asks to become a switch.
type JoinRequest struct {
	Switch string `json:"switch"`
	PID    int    `json:"pid"`
	Host   string `json:"host"`
}

// AttachRequest asks for signal on all links, or to be released from being a switch.
type AttachRequest struct {
	Switch string `json:"switch"`
	Number uint64 `json:"number"` // of the spec
}

// ErrUnreached means that the process which attaches did not answer the fabric. It may try again.
var ErrUnreached = reply.Code{Name: "unreached", Text: "the fabric cannot reach the process"}
