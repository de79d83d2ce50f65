package measure

// Result of one run. Times are in cycles, rates in packets per cycle of the whole network. The
// names in the tags are those of columns. What is said of packets is of the window, unless the
// field says otherwise.
type Result struct {
	Offered  float64 `csv:"offered"`  // packets generated, those refused by a full send queue too
	Injected float64 `csv:"injected"` // packets that left their send queues: accepted from the NICs
	Accepted float64 `csv:"accepted"` // packets delivered

	// From generation to delivery.
	LatencyMean float64 `csv:"latency_mean"`
	LatencyP50  float64 `csv:"latency_p50"`
	LatencyP95  float64 `csv:"latency_p95"`
	LatencyP99  float64 `csv:"latency_p99"`
	LatencyMax  float64 `csv:"latency_max"`
	// From leaving the send queue to delivery.
	NetworkLatencyMean float64 `csv:"network_latency_mean"`
	NetworkLatencyP50  float64 `csv:"network_latency_p50"`
	NetworkLatencyP95  float64 `csv:"network_latency_p95"`
	NetworkLatencyP99  float64 `csv:"network_latency_p99"`
	NetworkLatencyMax  float64 `csv:"network_latency_max"`
	// Half the width of the 95% confidence interval by batch means within the window; 0 when there
	// are too few batches. Latencies of batches depend on each other just below saturation, where
	// queues outlast a batch: the interval of the latency is too narrow there. That of several
	// runs, see package sweep, is not.
	AcceptedHalfWidth float64 `csv:"accepted_half_width"`
	LatencyHalfWidth  float64 `csv:"latency_half_width"`

	HopsMean float64 `csv:"hops_mean"` // switches crossed by those delivered

	// Of the whole run.
	// links and switches that died, fewer than asked for where the run ended before
	Faults    int    `csv:"faults"`
	LostTotal uint64 `csv:"lost_total"` // packets lost on wires, in queues of dead links and in dead switches
	// of these, per fault that came under load; the sum of the three that follow
	LostPerFault float64 `csv:"lost_per_fault"`
	// What was in the output queues of a dead link, at both ends, and had not begun to be sent; on
	// its wires, in both directions, and not yet routed at the other end; in dead switches.
	LostQueuedPerFault float64 `csv:"lost_queued_per_fault"`
	LostWirePerFault   float64 `csv:"lost_wire_per_fault"`
	LostCrashPerFault  float64 `csv:"lost_crash_per_fault"`
	Discarded          uint64  `csv:"discarded"` // packets discarded by a switch
	// Lost or, since the first fault that came under load, discarded, over these faults: what they
	// cost until the network has adapted, and from then on what no way is left for.
	MissingPerFault float64 `csv:"missing_per_fault"`
	// packets delivered after a later one of their flow; not counted from 2048 NICs on
	Reordered uint64 `csv:"reordered"`
	Rerouted  uint64 `csv:"rerouted"` // packets delivered that were sent another way because of a fault

	WarmupCycles int64 `csv:"warmup_cycles"` // until the window began, faults included
	Cycles       int64 `csv:"cycles"`        // in all
	// the network was steady when the window began, or Warmup.Skip had nobody ask
	Stable     bool   `csv:"stable"`
	Saturated  bool   `csv:"saturated"`   // send queues grew throughout the window
	Connected  bool   `csv:"connected"`   // the routing leads every NIC to every other with all faults there
	Deadlocked bool   `csv:"deadlocked"`  // and if so, the window is cut off there
	DeadlockAt int64  `csv:"deadlock_at"` // cycle at which it was found, -1 for none
	Cycle      string `csv:"cycle"`       // the channels that wait for each other

	// Of computed routes, where package sweep asks for them; runs of traffic leave them 0, but
	// Layers. A source/address pair is a source switch and an address of a NIC of another.
	Layers    int `csv:"layers"`    // virtual channels of each link that they use
	Addresses int `csv:"addresses"` // of each NIC
	// most source/address pairs whose ways lead over one virtual channel between switches
	MaxChannelLoad  int     `csv:"max_channel_load"`
	MeanChannelLoad float64 `csv:"mean_channel_load"` // the mean of these channels
	// most pairs of NICs over one direction of a link between switches, if each takes its ways in turn
	MaxLinkLoad  float64 `csv:"max_link_load"`
	MeanLinkLoad float64 `csv:"mean_link_load"` // the mean of these links
	Acyclic      bool    `csv:"acyclic"`        // nothing can deadlock

	// Of reconfigurations, one after each fault, where package sweep asks for them.
	// after each fault every flow that live links join had a path, and nothing could deadlock
	Tolerated    bool    `csv:"tolerated"`
	RerouteShare float64 `csv:"reroute_share"` // share of all flows that the last fault moved
	NewTurns     int     `csv:"new_turns"`     // turns that the last one enabled for paths
	Unroutable   int     `csv:"unroutable"`    // flows that have no path after it

	// Of many sets of so many dead links, where package sweep asks which are tolerated; then
	// Tolerated is whether all are.
	Sets uint64 `csv:"sets"` // sets
	// of these, sets with which some pair of switches that live links join has no way
	NotTolerated      uint64  `csv:"not_tolerated"`
	NotToleratedShare float64 `csv:"not_tolerated_share"` // as a share of the sets
	// of the pairs of different switches, those with a dead link on some shortest path, in the mean of
	// the tolerated sets
	AffectedShare float64 `csv:"affected_share"`
	// the same pairs, of the square of the number of switches, as the paper counts
	AffectedOfAll float64 `csv:"affected_of_all"`
	// Shares of the affected pairs, by what their ways use: intermediate nodes alone, one, two, or
	// more; D, M or both without; I with them.
	UseI   float64 `csv:"use_i"`
	UseI2  float64 `csv:"use_i2"`
	UseI3  float64 `csv:"use_i3"`
	UseD   float64 `csv:"use_d"`
	UseM   float64 `csv:"use_m"`
	UseDM  float64 `csv:"use_d_m"`
	UseID  float64 `csv:"use_i_d"`
	UseIM  float64 `csv:"use_i_m"`
	UseIDM float64 `csv:"use_i_d_m"`

	// What it took.
	Events     uint64 `csv:"events"`      // of the engine
	PacketHops uint64 `csv:"packet_hops"` // switches that packets left
	Hash       string `csv:"hash"`        // of all events in their order: equal for equal runs
}
