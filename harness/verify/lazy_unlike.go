package verify

import (
	"fmt"
	"strings"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// unlike is the error that a firmware answers a question otherwise when ports are renumbered.
type unlike struct {
	m     *model
	asked [2]posed      // the question, and it renumbered
	ports []weft.PortID // what becomes of those of the switch
}

// posed is a packet in a state, at a switch with some ports dead.
type posed struct {
	flow   int
	st     state
	fields weft.Fields
	dead   switching.PortSet
}

// Error says what was asked and answered.
func (u *unlike) Error() string {
	return fmt.Sprintf("%v: %s; renumbered, %s", errUnfit, u.asked[0].text(u.m), u.asked[1].text(u.m))
}

// Unwrap has it be one of errUnfit.
func (u *unlike) Unwrap() error { return errUnfit }

// answer is what the firmware does with a packet, with registers of zero.
func (p *posed) answer(m *model) switching.Decision {
	v := switching.Still{
		At: m.g.Place(weft.SwitchID(p.st.sw)), Dead: p.dead, Channels: m.vcs, Free: 2,
		Registers: make([]uint64, m.runs[0].declared[p.st.sw]),
	}
	return m.route(&m.runs[0].fw, &v, p.flow, 0, p.st.in, p.st.vc, p.fields, 0)
}

func (p *posed) text(m *model) string {
	var b strings.Builder
	fmt.Fprintf(&b, "at %s, a packet for %s that comes in by %v %v%s", m.g.Switches[p.st.sw].Name,
		m.g.NICs[m.flows[p.flow].dst].Name, p.st.in, p.st.vc, fieldsText(p.fields))
	for port := range weft.PortID(m.ports(int(p.st.sw))) {
		if p.dead.Has(port) {
			fmt.Fprintf(&b, ", %s dead", m.g.Links[m.peer(int(p.st.sw), port).link].Name)
		}
	}
	d := p.answer(m)
	fmt.Fprintf(&b, ": rule %q", d.Rule)
	for _, to := range d.Candidates {
		fmt.Fprintf(&b, ", out by %v %v%s", to.Port, to.VC, fieldsText(to.Fields))
	}
	return b.String()
}
