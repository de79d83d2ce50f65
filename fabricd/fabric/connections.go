package fabric

import (
	"context"
	"slices"
	"sync"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
)

// mostAsked bounds the faults that hosts are asked about at once, so that an answer fits a message.
// Chosen by us.
const mostAsked = 256

// lookAtConnections asks all hosts what programs' connections have suffered since each fault began
// that is counted now, and waits for none longer than lookTime.
func (fs *faults) lookAtConnections() {
	var ids []int
	var began []weft.Time
	fs.read(func(s *leader.State) { ids, began = s.Counting() })
	hosts := slices.DeleteFunc(fs.answering(), (*hostState).owes)
	if !fs.local.empty() {
		hosts = append(hosts, fs.local)
	}
	for len(ids) > 0 {
		n := min(len(ids), mostAsked)
		fs.tellSuffered(ids[:n], fs.suffered(hosts, began[:n]))
		ids, began = ids[n:], began[n:]
	}
}

// suffered is what connections on hosts suffered since some moments.
func (fs *faults) suffered(hosts []*hostState, since []weft.Time) []fault.Connections {
	all := make([]fault.Connections, len(since))
	var mu sync.Mutex // guards all
	_ = each(context.Background(), hosts, func(_ context.Context, h *hostState) error {
		list := h.suffered(since)
		mu.Lock()
		defer mu.Unlock()
		for i, c := range list[:min(len(list), len(all))] {
			all[i].Merge(c)
		}
		return nil
	})
	return all
}

func (fs *faults) tellSuffered(ids []int, list []fault.Connections) {
	if !slices.ContainsFunc(list, func(c fault.Connections) bool { return c.Count > 0 }) {
		return
	}
	fs.inLoop(func(l loop) {
		for i, c := range list {
			if c.Count > 0 {
				l.decide(leader.Suffered{Incident: ids[i], Connections: c})
			}
		}
	})
}

// suffered asks one host. What it does not answer within lookTime is left out.
func (h *hostState) suffered(since []weft.Time) []fault.Connections {
	if h.suspect.Load() {
		return nil
	}
	h.mu.Lock()
	alive, number := h.answers, h.number
	h.mu.Unlock()
	if alive == nil { // the one in this process
		alive = context.Background()
	}
	ctx, cancel := context.WithTimeout(alive, lookTime)
	defer cancel()
	a, err := h.host.Nodes(ctx, host.NodeRequest{Number: number, Since: since})
	if err != nil {
		h.site.opts.Log.Debug("connections of a host", "host", h.name, "err", err)
	}
	return a.Suffered
}
