package screen

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/switch/tables"
)

// switchPage is one switch: its ports with their virtual channels, registers and discards. What
// frames do not tell is asked for, as long as the page is shown.
type switchPage struct {
	name   string
	index  int
	list   list
	detail *api.SwitchDetail // nil until the first answer
	wrong  error             // why there is none
}

// detailed is an answer to what a switch page asks.
type detailed struct {
	of     string
	detail api.SwitchDetail
	err    error
}

// askTime bounds a question, so that a fabric that does not answer is not asked again and again
// meanwhile. Chosen by us.
const askTime = 5 * time.Second

func newSwitchPage(a *app, i int) *switchPage {
	return &switchPage{
		name: a.mirror.Topology.Switches[i].ID, index: i,
		list: list{columns: columns(">PORT", "PEER", "STATE", ">LOAD", ">VC", ">IN", ">OUT", ">CREDITS", "WAITED FOR")},
	}
}

func (p *switchPage) title() string { return p.name }

func (p *switchPage) on(a *app) target {
	p.refresh(a)
	if t := p.list.on(); t.kind == aLink {
		return target{aLink, t.i}
	}
	return target{aSwitch, p.index}
}

func (p *switchPage) key(a *app, k string) bool {
	p.refresh(a)
	if k == "tab" { // the next port
		at := p.list.on()
		for i := p.list.cursor; i < len(p.list.rows); i++ {
			if p.list.rows[i].of != at {
				p.list.cursor = i
				return true
			}
		}
		p.list.cursor = 0
		return true
	}
	return p.list.key(k)
}

func (p *switchPage) refresh(a *app) {
	if p.detail != nil {
		p.list.set(p.rows(a))
	}
}

// askDetail asks for the detail of the switch that is shown, if one is and no answer is on its way.
func (a *app) askDetail() tea.Cmd {
	p, ok := a.page().(*switchPage)
	if !ok || a.asking || a.detail == nil || !a.live {
		return nil
	}
	a.asking = true
	ctx, name, question := a.ctx, p.name, a.detail
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		d, err := question(ctx, name, false)
		return detailed{name, d, err}
	}
}

// answer takes what was asked for over.
func (a *app) answer(d detailed) {
	a.asking = false
	if p, ok := a.page().(*switchPage); ok && p.name == d.of {
		p.wrong = d.err
		if d.err == nil {
			p.detail = &d.detail
		}
	}
}

func (p *switchPage) draw(a *app, w, h int) []string {
	v := a.mirror.Switches[p.index]
	out := []string{a.render(strong, "switch "+p.name) + "  " + a.switchFigures(v)}
	if p.detail == nil {
		text := "asking" + a.th.signs.ellipsis
		if p.wrong != nil {
			text = p.wrong.Error()
		}
		return append(out, "", a.render(dim, "  "+text))
	}
	out = append(out, a.render(dim, p.summary()))
	below := p.below(a, w)
	p.refresh(a)
	room := max(4, min(len(p.list.rows)+1, h-len(out)-len(below)-1))
	out = append(append(out, p.list.draw(a.th, w, room, a.marked)...), "")
	return append(out, below...)
}

// summary is what the switch has done so far.
func (p *switchPage) summary() string {
	d := p.detail
	text := fmt.Sprintf("received %s  forwarded %s  rerouted %s  U-turns %s  discarded %s",
		count(float64(d.Counts.Received)),
		count(float64(d.Counts.Forwarded)), count(float64(d.Counts.Rerouted)), count(float64(d.Counts.UTurns)),
		count(float64(d.Counts.Discarded)))
	if d.Process != "" {
		text += "  " + d.Process
	}
	return text
}

// rows are a line for each virtual channel of each connected port.
func (p *switchPage) rows(a *app) (rows []row) {
	m := a.mirror
	for _, port := range p.detail.Ports {
		link := m.Topology.Link(port.Link)
		if link < 0 {
			continue
		}
		tr, state := m.Trouble(link), port.State
		if port.Held {
			state = "held"
		}
		if tr != linkWell {
			state += " " + string(a.th.signs.trouble[tr])
		}
		load := busier(m.Links[link])
		for i, vc := range port.VCs {
			r := row{of: target{aLink, link}, cells: []cell{
				{strconv.Itoa(port.Port), plain},
				{port.Peer, plain},
				{state, troubleTone(tr)},
				{percent(load), loadTone(load)},
				{strconv.Itoa(vc.VC), dim},
				queued(vc.Input), queued(vc.Output),
				{strconv.Itoa(vc.Credits), plain},
				{stalls(vc.Stalls), warn},
			}}
			if i > 0 {
				for c := range 4 {
					r.cells[c] = cell{}
				}
			}
			rows = append(rows, r)
		}
	}
	return rows
}

func queued(n int) cell {
	if n > 0 {
		return cell{strconv.Itoa(n), info}
	}
	return cell{"0", dim}
}

// stalls words how often packets began to wait, by reason.
func stalls(by map[string]uint64) string {
	var list []string
	for _, reason := range slices.Sorted(maps.Keys(by)) {
		list = append(list, strings.ReplaceAll(reason, "_", " ")+" "+count(float64(by[reason])))
	}
	return strings.Join(list, ", ")
}

// below is what comes after the ports: registers that are not zero, discards, and packets that
// wait.
func (p *switchPage) below(a *app, w int) (out []string) {
	var list []string
	for _, r := range p.detail.Registers {
		if strings.Trim(r.Value, "0b") == "" {
			continue
		}
		text := r.Name + " " + r.Value
		if r.Expires > 0 {
			text += fmt.Sprintf(", %.1f s left", r.Expires)
		}
		list = append(list, text)
	}
	add := func(name, text string, t tone) {
		out = append(out, a.render(dim, fit("  "+name, 13))+a.render(t, clip(text, w-13, a.th.signs.ellipsis)))
	}
	if v := p.detail.Tables; v > tables.FirstVersion {
		add("tables", fmt.Sprintf("version %d", v), plain)
	}
	if len(list) > 0 {
		add("registers", strings.Join(list, "; "), accent)
	}
	if len(p.detail.Discards) > 0 {
		add("discarded", fault.ByRule(p.detail.Discards), bad)
	}
	for i, wait := range p.detail.Waiting {
		if i == 3 {
			add("", fmt.Sprintf("and %d more", len(p.detail.Waiting)-i), dim)
			break
		}
		var outs []string
		for _, o := range wait.For {
			outs = append(outs, fmt.Sprintf("port %d vc %d", o.Port, o.VC))
		}
		add("waits", fmt.Sprintf("%s%s%s from port %d vc %d, for %s", wait.Src, a.th.signs.to, wait.Dst, wait.In, wait.InVC,
			strings.Join(outs, " or ")), warn)
	}
	return out
}
