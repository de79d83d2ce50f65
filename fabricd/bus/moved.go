package bus

import (
	"github.com/weft-fabric/weft/fabricd/deflate"
	"github.com/weft-fabric/weft/fabricd/reply"
)

// What packages fabric and part take from here still.
var (
	ErrNobody  = reply.ErrNobody
	ErrSilent  = reply.ErrSilent
	ErrRefused = reply.ErrRefused
	Compress   = deflate.Compress
	Decompress = deflate.Decompress
)
