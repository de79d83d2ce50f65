package remote

import "errors"

// Why a host ends that was not told to.
var (
	// ErrAlone means that for [Config].Alone seconds nobody has asked the host anything.
	ErrAlone = errors.New("nobody asks it anything any more")
	// ErrLater means that the leader asks a later incarnation of a host that is one switch alone:
	// it has written this one off, and has another process run the switch.
	ErrLater = errors.New("the leader asks a later incarnation of it")
	// ErrRefused means that the broker no longer takes the host's credentials.
	ErrRefused = errors.New("its broker takes our credentials no more")
)
