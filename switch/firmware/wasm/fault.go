package wasm

import (
	"fmt"
	"strings"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// Fault is a guest that trapped or answered what cannot be. Route of a [Module]'s firmware panics
// with one: the switch discards the packet and goes on, see [switching.Config].Panicked.
type Fault struct {
	File   string // of the module
	Switch string // where it was asked
	Packet weft.Header
	At     switching.Arrival
	Rule   string // that it answered; empty: none
	Reason string // what the guest did
	Advice string // what to do
	Stack  string // the functions that it was in, innermost first, a line each; empty if it answered
}

// Why says what the guest did and what to do, see [switching.PanicReason].
func (f *Fault) Why() string {
	if f.Rule != "" {
		return fmt.Sprintf("%s, by rule %q: %s", f.Reason, f.Rule, f.Advice)
	}
	return f.Reason + ": " + f.Advice
}

// Error says all of it.
func (f *Fault) Error() string {
	text := f.Why()
	if f.Switch != "" {
		text = fmt.Sprintf("firmware %s at %s, packet %d of %d -> %d, which came by %v in %v: %s",
			f.File, f.Switch, f.Packet.Seq, f.Packet.Src, f.Packet.Dst, f.At.Port, f.At.VC, text)
	}
	if f.Stack != "" {
		text += "\n" + f.Stack
	}
	return text
}

// trapped says how a call of the guest that failed came to its end.
func (i *instance) trapped(err error) error {
	text, stack, _ := strings.Cut(err.Error(), "wasm stack trace:\n")
	text, _, _ = strings.Cut(text, " (recovered by wazero)")
	f := &Fault{
		Reason: strings.TrimSpace(text), Stack: strings.TrimRight(stack, "\n"),
		Advice: "see the functions below, innermost first",
	}
	switch {
	case int64(i.work.Get()) < 0:
		f.Reason = "it did not end"
		f.Advice = fmt.Sprintf("a call may take %d instructions, as it declares: look for a loop", i.budget)
	case strings.Contains(text, "out of bounds memory access"):
		f.Reason = "it read or wrote outside its memory"
	case strings.Contains(text, "unreachable"):
		f.Reason = "it trapped: unreachable, as a panic or __builtin_trap is"
	}
	return f
}

// garbage is an answer that cannot be.
func garbage(format string, args ...any) error {
	return &Fault{
		Reason: fmt.Sprintf(format, args...),
		Advice: "mend its answer, docs/reference/wasm.md says what it may hold",
	}
}
