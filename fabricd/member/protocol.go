package member

// Verbs that a process requests of the fabric.
const (
	VerbJoin   = "join"   // a [host.JoinRequest], answered by a host.Spec
	VerbAttach = "attach" // a [host.AttachRequest]
	VerbLeave  = "leave"  // a [host.AttachRequest]
)
