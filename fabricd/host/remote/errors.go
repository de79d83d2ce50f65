package remote

import "errors"

// What ends a host that was not told to end.
var (
	// ErrAlone means that nobody has asked it anything for as long as [Config].Alone.
	ErrAlone = errors.New("nobody asks it anything any more")
	// ErrRefused means that the broker takes its credentials no more.
	ErrRefused = errors.New("its broker takes our credentials no more")
)
