// Package reply has the errors with which other processes of a fabric answer, and what its broker
// keeps. Package fabricd/bus returns them. They are here so that a package that only looks at them
// does not depend on NATS.
package reply

import "errors"

// Errors of a question to another process, besides those of the context.
var (
	// ErrNobody means that nobody is there to answer: the process has not begun, or has ended.
	ErrNobody = errors.New("nobody answers")
	// ErrSilent means that somebody is there and does not answer in time, as a process that is
	// stopped.
	ErrSilent = errors.New("no answer in time")
	// ErrRefused means that the answer is an error, whose text follows.
	ErrRefused = errors.New("refused")
	// ErrDenied means that the broker does not let us ask this.
	ErrDenied = errors.New("not permitted")
	// ErrNoAccess means that the broker lets this process in no more: it has revoked its key, or
	// has refused it for so long that the connection is not tried again.
	ErrNoAccess = errors.New("the broker lets us in no more")
	// ErrEnded means that the fabric has said that it ends, or that its process is gone.
	ErrEnded = errors.New("the fabric has ended")
)

// Errors of a key that the broker keeps.
var (
	// ErrNoKey means that there is no such key.
	ErrNoKey = errors.New("no such key")
	// ErrConflict means that the key has another revision than that which was to be replaced.
	ErrConflict = errors.New("somebody else has written it meanwhile")
)

// Code is an error that keeps its identity when it travels: [errors.Is] finds it in the error of
// who has asked.
type Code struct{ Name, Text string }

// Error implements error.
func (c Code) Error() string { return c.Text }
