package switching

// Stall is a reason why a packet waits.
type Stall uint8

// The reasons, counted per (port, VC) each time a packet begins to wait. StallNoCredit counts at
// the output, the others at the input the packet waits in.
const (
	StallOutputFull Stall = iota // every candidate's output queue is full
	StallLinkDown                // every candidate's link is down
	StallOrder                   // an earlier packet of its flow waits (virtual output queues), or any (FIFO)
	StallNoCredit                // the neighbour has no room
	StallFirmware                // the firmware, which is another process, has not answered yet
	stalls
)

// Stalls lists all reasons in order.
func Stalls() []Stall {
	return []Stall{StallOutputFull, StallLinkDown, StallOrder, StallNoCredit, StallFirmware}
}

// String prints the reason as snapshots and metrics name it.
func (s Stall) String() string {
	return [...]string{"output_full", "link_down", "order", "no_credit", "firmware"}[s]
}
