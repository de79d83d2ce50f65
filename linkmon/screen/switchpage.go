package screen

func newSwitchPage(a *app, i int) page {
	return newTextPage("switch", []string{a.mirror.Topology.Switches[i].ID})
}
