package member

// Verbs that a process requests of the fabric.
const (
	VerbJoin   = "join"   // a [part.JoinRequest], answered by a part.Charter
	VerbAttach = "attach" // a [part.AttachRequest]
	VerbLeave  = "leave"  // a [part.AttachRequest]
)
