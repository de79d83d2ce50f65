package bus

// Grant is what a user may do, by patterns of subjects.
type Grant struct{ Publish, Subscribe []string }

// AllGrants is what every kind of credentials may do, as the code has it, by the names of the
// matrix.
func AllGrants(fabric, agent string, host HostAccess, node NodeAccess) map[string]Grant {
	all := map[string]Grant{}
	add := func(who string, g grant) { all[who] = Grant{g.publish, g.subscribe} }
	for r := Role(1); r.String() != Role(0).String(); r++ {
		g := grantOf(r, fabric, agent)
		if len(g.publish)+len(g.subscribe) == 0 {
			panic("role " + r.String() + " may do nothing")
		}
		add(r.String(), g.withInbox(r.inbox(agent)))
	}
	add("host", host.grant(fabric))
	add("switch", node.grant(fabric))
	add("system", systemGrant().withInbox(inboxOf("system")))
	return all
}

// AllKinds are the kinds of subject.
func AllKinds() (kinds []SubjectKind) {
	for k := SubjectKind(1); ; k++ {
		if (Subject{Kind: k, Fabric: "lab", Node: "s0", Verb: "verb"}).Validate() != nil {
			return kinds
		}
		kinds = append(kinds, k)
	}
}

// Travel is what arrives of v on a subject of a kind.
func Travel[T any](k SubjectKind, v T) (got T, err error) {
	data, err := k.encode(v)
	if err != nil {
		return got, err
	}
	return got, k.decode(data, &got)
}

// Read reads what somebody sends as msgpack.
func Read(data []byte, v any) error { return SubjectSwitch.decode(data, v) }

// Lost is how many events were lost here.
func (c *Client) Lost() uint64 {
	t := &c.hostEvents
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.lost.Load()
	if t.sub != nil {
		if dropped, err := t.sub.Dropped(); err == nil { // nats.go's own, when even sort is too slow
			n += uint64(max(dropped, 0))
		}
	}
	return n
}

// Lost is how many events found the buffer full.
func (e *Events) Lost() (uint64, error) {
	n, err := e.sub.Dropped()
	return uint64(max(n, 0)), err
}
