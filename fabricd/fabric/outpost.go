package fabric

// outpost is a part as its leader knows it.
type outpost struct{}
