package fabric

// Stage is a part of bringing a fabric up, named after the pieces that it counts.
type Stage string

// The stages, in the order in which they come.
const (
	StageNodes Stage = "switches and NICs made"
	StageOpen  Stage = "switches and NICs wired"
	StageUp    Stage = "links up"
	StageHosts Stage = "hosts" // on agents, in place of nodes; the leader's caller counts them
)

// reportProgress reports how far a stage has come.
func (o Options) reportProgress(s Stage, done, total int) {
	if o.Progress != nil {
		o.Progress(s, done, total)
	}
}
