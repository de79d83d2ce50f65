package fabric

import "github.com/weft-fabric/weft/fabricd/host"

// hearHosts listens to what processes tell.
func (f *Fabric) hearHosts() error {
	if f.opts.Processes == nil {
		return nil
	}
	return f.opts.Processes.Hosts.Hear(f.takeEvents)
}

// takeEvents takes what a host, or the process of a switch, tells.
func (f *Fabric) takeEvents(node string, batch host.EventBatch) {
	if h := f.hostNamed(node); h != nil {
		f.observe(h, batch)
		return
	}
	if id, err := f.graph.SwitchByName(node); err == nil {
		if h := f.switches[id].owned(); h != nil {
			f.observe(h, batch)
		}
	}
}
