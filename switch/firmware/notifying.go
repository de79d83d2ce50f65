package firmware

// These firmwares can inform the source of a packet that they discard (Sem-Jacobsen, Skeie, Lysne,
// Duato: Dynamic Fault Tolerance in Fat Trees, rules 4 and 5: "may inform").

// Notifying implements [Notifier].
func (f DeterministicLink) Notifying() Firmware {
	f.Notify = true
	return f
}

// Notifying implements [Notifier].
func (f DeterministicLinkFlat) Notifying() Firmware {
	f.Notify = true
	return f
}

// Notifying implements [Notifier].
func (a AdaptiveLink) Notifying() Firmware {
	a.Notify = true
	return a
}

// Notifying implements [Notifier].
func (d DeterministicSwitch) Notifying() Firmware {
	d.Notify = true
	return d
}

// Notifying implements [Notifier].
func (a AdaptiveSwitch) Notifying() Firmware {
	a.Notify = true
	return a
}

// Notifying implements [Notifier].
func (m MisrouteVector) Notifying() Firmware {
	m.Notify = true
	return m
}

// Notifying implements [Notifier].
func (d DeterministicLinkOne) Notifying() Firmware {
	d.Notify = true
	return d
}

// Notifying implements [Notifier].
func (a AdaptiveLinkOne) Notifying() Firmware {
	a.Notify = true
	return a
}

// Notifying implements [Notifier].
func (d DeterministicSwitchOne) Notifying() Firmware {
	d.Notify = true
	return d
}

// Notifying implements [Notifier].
func (a AdaptiveSwitchOne) Notifying() Firmware {
	a.Notify = true
	return a
}

// Notifying implements [Notifier].
func (s SourceRouted) Notifying() Firmware {
	s.Notify = true
	return s
}

// Notifying implements [Notifier].
func (f DeterministicTable) Notifying() Firmware {
	f.Notify = true
	return f
}

// Notifying implements [Notifier].
func (f Hybrid) Notifying() Firmware {
	f.Notify = true
	return f
}

// Notifying implements [Notifier].
func (f HybridAdaptive) Notifying() Firmware {
	f.Local.Notify = true
	return f
}

// Notifiers lists the names of those Entries that are a [Notifier].
func Notifiers() []string {
	var names []string
	for _, e := range Entries() {
		if _, ok := e.New().(Notifier); ok {
			names = append(names, e.Name)
		}
	}
	return names
}
