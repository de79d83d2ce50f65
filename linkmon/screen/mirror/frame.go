package mirror

import (
	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/linkmon/fault"
)

type Frame struct {
	Seq      uint64         `json:"seq"`
	Kind     string         `json:"kind"`
	Run      string         `json:"run"`
	At       float64        `json:"at"`
	Links    []LinkView     `json:"links,omitempty"`
	Switches []SwitchView   `json:"switches,omitempty"`
	Sample   api.Sample     `json:"sample"`
	Ledger   fabric.Ledger  `json:"ledger"`
	Totals   fabric.Totals  `json:"totals"`
	Events   []fabric.Event `json:"events,omitempty"`
	Faults   []fault.Report `json:"faults,omitempty"`
	Deadlock []ChannelView  `json:"deadlock,omitempty"`
	Traffic  string         `json:"traffic,omitempty"`
}

type ChannelView struct {
	Link int    `json:"link"`
	Dir  string `json:"dir"`
	VC   int    `json:"vc"`
}

type LinkView struct {
	I         int     `json:"i"`
	State     string  `json:"state"`
	CutAB     string  `json:"cut_ab,omitempty"`
	CutBA     string  `json:"cut_ba,omitempty"`
	Flapping  bool    `json:"flapping,omitempty"`
	SuffersAB string  `json:"suffers_ab,omitempty"`
	SuffersBA string  `json:"suffers_ba,omitempty"`
	AUp       bool    `json:"a_up,omitempty"`
	BUp       bool    `json:"b_up,omitempty"`
	HeldA     bool    `json:"held_a,omitempty"`
	HeldB     bool    `json:"held_b,omitempty"`
	RateAB    float64 `json:"rate_ab,omitempty"`
	RateBA    float64 `json:"rate_ba,omitempty"`
	LoadAB    float64 `json:"load_ab,omitempty"`
	LoadBA    float64 `json:"load_ba,omitempty"`
	QueuedAB  int     `json:"queued_ab,omitempty"`
	QueuedBA  int     `json:"queued_ba,omitempty"`
	Lost      uint64  `json:"lost,omitempty"`
}

type SwitchView struct {
	I        int     `json:"i"`
	State    string  `json:"state"`
	Held     int     `json:"held,omitempty"`
	Blocked  int     `json:"blocked,omitempty"`
	Rerouted float64 `json:"rerouted,omitempty"`
	UTurns   float64 `json:"uturns,omitempty"`
	Vector   string  `json:"vector,omitempty"`
}
