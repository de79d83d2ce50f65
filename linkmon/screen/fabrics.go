package screen

import (
	tea "charm.land/bubbletea/v2"

	"github.com/weft-fabric/weft/fabricd/api"
)

// newFabricsPage lists the fabrics that run, to choose one of them.
func newFabricsPage() *table {
	return &table{
		name: "Fabrics", rows: fabricRows, empty: "no fabric is running",
		list: list{columns: columns("FABRIC", "TOPOLOGY", "ROUTING")},
	}
}

func fabricRows(a *app) (rows []row) {
	for i, f := range a.fabrics {
		name := cell{f.Name, plain}
		if a.mirror != nil && f.Name == a.status.Name {
			name.tone = strong
		}
		rows = append(rows, row{of: target{aFabric, i}, cells: []cell{name, {f.Topology, dim}, {f.Routing, dim}}})
	}
	return rows
}

// fabrics tells which fabrics run.
type fabrics struct {
	list []api.Listed
	err  error
}

// askFabrics asks which fabrics run.
func (a *app) askFabrics() tea.Cmd {
	if a.cfg.Fabrics == nil {
		return nil
	}
	ctx, ask := a.ctx, a.cfg.Fabrics
	return func() tea.Msg {
		list, err := ask(ctx)
		return fabrics{list, err}
	}
}

// offer lists the fabrics that run, if it is not clear which is meant or somebody has asked.
func (a *app) offer(f fabrics) {
	switch {
	case f.err != nil && a.mirror != nil:
		a.notify(bad, "%v", f.err)
	case f.err == nil:
		a.fabrics = f.list
		if a.mirror != nil {
			a.open(a.picker)
		}
	}
}

// picking reports whether nothing can be shown until a fabric is chosen.
func (a *app) picking() bool { return a.mirror == nil && a.unreachable != nil && len(a.fabrics) > 1 }

// choose goes over to a fabric.
func (a *app) choose(i int) {
	a.cfg.Choose(a.fabrics[i].Name)
	a.mirror, a.unreachable, a.live, a.fabrics = nil, nil, false, nil
	a.stack, a.previous = []page{a.roots[0]}, nil
}
