package bus

import (
	"slices"

	"github.com/nats-io/jwt/v2"
)

// Role is what a connection may do on a broker.
type Role uint8

// The roles. The zero value may do nothing.
const (
	RoleFabric Role = iota + 1 // everything on the subjects of this fabric: the fabric itself, that is who leads it
	// any request, events, hears frames and sends none: a human or script that cuts and restores
	RoleOperator
	RoleViewer  // read requests (verbs get.*), events, hears frames; cannot change anything
	RoleManager // uploads tables, keeps the manager's state, read requests, events; cannot cut
	// is found and asked as the agent of one host; nothing else, its hosts have credentials of
	// their own
	RoleAgent
	RoleRenewer // gives processes that run new credentials, nothing else
)

// String prints the role, which is also the name of its user; that of an agent has the name of its
// host after it.
func (r Role) String() string {
	if r > RoleRenewer {
		r = 0
	}
	return [...]string{"nobody", "fabric", "operator", "viewer", "manager", "agent", "renewer"}[r]
}

// User is the name of a role's user; name is that of the host of an agent and otherwise not used.
func (r Role) User(name string) string {
	if r == RoleAgent {
		return r.String() + "-" + nodeToken(name)
	}
	return r.String()
}

// grant lists the subjects that a user may publish on and hear. Every other subject is denied, by
// an embedded broker and by one that trusts our tokens alike.
type grant struct{ publish, subscribe []string }

// grantOf is the grant of a role; name is that of the host of an agent. A process that runs for
// long hears requests to renew its credentials. Leave to answer is given by inbox and never by
// allow_responses: whoever sends a process anything could with its reply subject lend it leave to
// speak there.
func grantOf(r Role, fabric, name string) grant {
	own, toRenewer := renewalsOf(fabric, r.User(name)), inboxOf(RoleRenewer.String())+".>"
	switch r {
	case RoleFabric:
		return grant{
			slices.Concat(storeSubjects(fabric), jobSubjects(), []string{allOf(fabric), allAgents(), inboxes + ">"},
				services(AgentService)),
			append(announced(fabricService), allOf(fabric)),
		}
	case RoleOperator:
		return grant{[]string{allControl(fabric), toRenewer, findFabrics}, []string{allEvents(fabric), allLinks(fabric), own}}
	case RoleViewer:
		return grant{[]string{allReads(fabric), toRenewer, findFabrics}, []string{allEvents(fabric), allLinks(fabric), own}}
	case RoleManager:
		return grant{
			append(storeSubjects(fabric), allManage(fabric), allReads(fabric), toRenewer, findFabrics),
			[]string{allEvents(fabric), own},
		}
	case RoleAgent:
		return grant{
			append(slices.Concat(services(AgentService), jobSubjects()),
				agentSubjects(name), // whether there is another of its name
				inboxOf(RoleFabric.String())+".>", toRenewer, agentInboxes()),
			append(announced(AgentService), agentSubjects(name), own),
		}
	case RoleRenewer:
		return grant{[]string{allRenewals(fabric)}, nil}
	}
	return grant{}
}

// withInbox is g with leave to hear the own inbox.
func (g grant) withInbox(prefix string) grant {
	return grant{g.publish, append(slices.Clone(g.subscribe), prefix+".>")}
}

// inToken is g for a token that a server reads.
func (g grant) inToken() (p jwt.Permissions) {
	p.Pub.Allow.Add(g.publish...)
	p.Sub.Allow.Add(g.subscribe...)
	return p
}

// Subjects of agents and of how they are found: nats.go's services answer on $SRV.<verb>, also with
// a name and with a number after it.
func services(service string) (subjects []string) {
	for _, verb := range []string{"PING", "INFO", "STATS"} {
		s := "$SRV." + verb
		if service != "" {
			s += "." + service
			subjects = append(subjects, s+".*")
		}
		subjects = append(subjects, s)
	}
	return subjects
}

// findFabrics is how people find which fabrics are led, as [Fabrics] does.
const findFabrics = "$SRV.INFO." + fabricService

// announced are the subjects on which a service is found.
func announced(service string) []string { return append(services(""), services(service)...) }

func allAgents() string                { return root + "." + agents + ".>" }
func agentSubjects(name string) string { return agentPrefix(name) + ".>" }
func agentInboxes() string             { return inboxOf(RoleAgent.String()) + ".>" }
