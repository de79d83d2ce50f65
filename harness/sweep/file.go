package sweep

import (
	"slices"

	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/settings"
)

// File is an experiment as it is written. [Read] makes an [Experiment] of it.
type File struct {
	Name  string `yaml:"name" jsonschema_description:"Name of the experiment; that of the file without .yaml."`
	About string `yaml:"about" jsonschema_description:"What is measured, and which figure of which paper it repeats."`
	Seed  uint64 `yaml:"seed,omitempty" jsonschema_description:"Seed of every random draw; 1 unless given."`

	Measure string   `yaml:"measure,omitempty" jsonschema:"enum=network,enum=connectivity,enum=layers,enum=reroute,enum=tolerate" jsonschema_description:"network, unless given: run the network under traffic. connectivity: ask the checker whether all pairs are connected with the faults of the sample, and whether packets can deadlock, without traffic. layers: compute the routes, and tell how many layers they need and what they load, without traffic. reroute: let faults come one after another, have manager repair the tables of routing after each, and tell whether all pairs are connected and nothing can deadlock, without traffic. tolerate: count the sets of dead links, in a torus or mesh, that mechanisms tolerate."`
	Base    Settings `yaml:"base" jsonschema_description:"What is the same in all runs, unless an axis says otherwise."`
	Loads   []Load   `yaml:"loads,omitempty" jsonschema_description:"Names for loads, which can differ by topology and traffic. The first that fits counts."`
	Axes    []Axis   `yaml:"axes" jsonschema_description:"What differs. All combinations are run; the first axis changes slowest."`
	Samples int      `yaml:"samples" jsonschema:"minimum=1" jsonschema_description:"Runs of each combination, each with a seed of its own."`
	Quick   Quick    `yaml:"quick" jsonschema_description:"The form that takes a minute or two (--quick)."`
	Exclude []string `yaml:"exclude,omitempty" jsonschema:"enum=deadlocked,enum=disconnected,enum=unstable" jsonschema_description:"Runs that means leave out; deadlocked and disconnected unless given. How many there were is always told."`
	Plots   []Plot   `yaml:"plots,omitempty" jsonschema_description:"What is drawn of the results."`
	Checks  []Check  `yaml:"checks,omitempty" jsonschema_description:"What the paper says, to be compared with the results."`
}

// Settings are a measured run in words. What is not given is the default of package measure. All
// delays are in cycles. Fields are pointers, and not parts of [settings.Settings], because an axis
// may set what base says back to false.
type Settings struct {
	Topology    *string `yaml:"topology,omitempty" jsonschema_description:"As fabricd takes it: kary-ntree:4,3, mport-tree:8,3, leaf-spine:4,8,12, mesh:4x4, torus:4x4x4, irregular:16,32,1, ring:8, or a topology file. {sample} in it is the number of the sample, counted from 1, so that each sample has a graph of its own; {switches}, {links} and {most_layers} are the fields of these names, {2*switches} twice as many."`
	Switches    *int    `yaml:"switches,omitempty" jsonschema:"minimum=1" jsonschema_description:"What {switches} stands for in topology and routing."`
	Links       *int    `yaml:"links,omitempty" jsonschema:"minimum=0" jsonschema_description:"What {links} stands for in topology and routing."`
	MostLayers  *int    `yaml:"most_layers,omitempty" jsonschema:"minimum=1" jsonschema_description:"What {most_layers} stands for in topology and routing."`
	Routing     *string `yaml:"routing,omitempty" jsonschema_description:"Routing function of every switch, as adaptive-link, or lash:layers=4; or ddrc: up/down tables computed anew without what is dead. {sample} and the like as in topology."`
	LayersOf    *string `yaml:"layers_of,omitempty" jsonschema_description:"A routing: as many layers as it needs on the graph of the sample are added to routing, as layers=3. So several routings can be compared that have the same number of virtual channels."`
	Manager     *string `yaml:"manager,omitempty" jsonschema_description:"With measure: reroute: how tables are repaired after a fault, as dqr, dqr:plugin=mesh,path=local, ddrc or engine:NAME; or physical: no method, but whether live links join all pairs."`
	SwitchFlows *bool   `yaml:"switch_flows,omitempty" jsonschema_description:"With measure: reroute: switches send to switches too."`
	Mechanisms  *string `yaml:"mechanisms,omitempty" jsonschema_description:"With measure: tolerate: what leads packets around dead links, as I+D, Ix2 or none."`
	Region      *string `yaml:"region,omitempty" jsonschema_description:"With measure: tolerate: which links may die: all, unless given, or distance-1, those of the switches next to one."`
	FaultSets   *int    `yaml:"fault_sets,omitempty" jsonschema:"minimum=1" jsonschema_description:"With measure: tolerate: how many sets of faults are drawn, anew for each sample; all sets are counted unless given."`
	EverySet    *bool   `yaml:"every_set,omitempty" jsonschema_description:"With measure: reroute or connectivity: a run judges all sets of so many faults, instead of drawing one; with reroute at most one fault, each link alone."`
	Load        *Value  `yaml:"load,omitempty" jsonschema_description:"Share of a link's capacity that each NIC offers, above 0 and at most 1; or a name from loads."`
	Traffic     *string `yaml:"traffic,omitempty" jsonschema_description:"Pattern of the traffic without its load, as uniform or pairwise; options follow after a comma."`
	DrawByLoad  *bool   `yaml:"draw_by_load,omitempty" jsonschema_description:"The seed depends on the load too, so that what traffic draws, as the pairs of pairwise, is drawn anew for each load."`

	Faults       *int    `yaml:"faults,omitempty" jsonschema:"minimum=0" jsonschema_description:"Links or switches that die, drawn anew for each sample; 0 unless given."`
	FaultKind    *string `yaml:"fault_kind,omitempty" jsonschema:"enum=link,enum=switch" jsonschema_description:"link: links between switches; switch: switches without NICs. link unless given."`
	FaultsBefore *bool   `yaml:"faults_before,omitempty" jsonschema_description:"They are dead before the first packet, instead of dying one after the other under load."`
	FaultSpacing *int    `yaml:"fault_spacing,omitempty" jsonschema:"minimum=1" jsonschema_description:"Cycles between two faults; 500 unless given."`
	Reconfigure  *int    `yaml:"reconfigure_after,omitempty" jsonschema:"minimum=0" jsonschema_description:"With ddrc, or a routing with mechanisms: cycles from a fault to what is computed without it; 0 unless given."`
	BypassPlanes *bool   `yaml:"bypass_planes,omitempty" jsonschema_description:"In meshes and tori, with faults_before: planes that hold the faults are switched off and bypassed, and what is left is measured."`

	VCs            *int    `yaml:"vcs,omitempty"`
	InputBuffer    *int    `yaml:"input_buffer,omitempty"`
	OutputBuffer   *int    `yaml:"output_buffer,omitempty"`
	Queueing       *string `yaml:"queueing,omitempty"`
	Selection      *string `yaml:"selection,omitempty"`
	Waiting        *string `yaml:"waiting,omitempty"`
	EagerCredits   *bool   `yaml:"eager_credits,omitempty"`
	RegisterExpire *int    `yaml:"register_expire,omitempty" jsonschema:"minimum=-1" jsonschema_description:"Cycles after which what a routing function keeps in a switch is forgotten, from 1 on; -1 is never; what the function says unless given."`

	PacketBytes   *int     `yaml:"packet_bytes,omitempty"`
	QueueBytes    *int     `yaml:"queue_bytes,omitempty"`
	CycleNS       *float64 `yaml:"cycle_ns,omitempty" jsonschema_description:"Nanoseconds in a cycle; 512 unless given."`
	BytesPerCycle *int     `yaml:"bytes_per_cycle,omitempty" jsonschema:"minimum=1" jsonschema_description:"Bytes that a link carries in a cycle; 128 unless given."`
	WireDelay     *float64 `yaml:"wire_delay,omitempty" jsonschema:"minimum=0" jsonschema_description:"Cycles from one end of a link to the other."`
	RoutingDelay  *float64 `yaml:"routing_delay,omitempty" jsonschema:"minimum=0" jsonschema_description:"Cycles from a packet's arrival to its routing."`
	CrossbarDelay *float64 `yaml:"crossbar_delay,omitempty" jsonschema:"minimum=0" jsonschema_description:"Cycles from when an output has something to send to when it may."`

	WarmupBatch     *int     `yaml:"warmup_batch,omitempty" jsonschema:"minimum=1" jsonschema_description:"Cycles of a batch, by whose means a network is judged to be steady."`
	WarmupBatches   *int     `yaml:"warmup_batches,omitempty" jsonschema:"minimum=2" jsonschema_description:"Batches that must agree."`
	WarmupTolerance *float64 `yaml:"warmup_tolerance,omitempty" jsonschema:"exclusiveMinimum=0" jsonschema_description:"Share by which they may differ from their mean."`
	WarmupMost      *int     `yaml:"warmup_most,omitempty" jsonschema:"minimum=1" jsonschema_description:"Cycles after which a network is measured though it is not steady."`
	WarmupSkip      *bool    `yaml:"warmup_skip,omitempty" jsonschema_description:"Measure from the first cycle on."`
	Window          *int     `yaml:"window,omitempty" jsonschema:"minimum=1" jsonschema_description:"Cycles measured; 10000 unless given."`
	MostCycles      *int     `yaml:"most_cycles,omitempty" jsonschema:"minimum=1" jsonschema_description:"Most cycles of a run in all."`
	Hunt            *bool    `yaml:"hunt,omitempty" jsonschema_description:"The run is a search for a deadlock: after the first warm-up and the faults it goes on until there is one, or until it has lasted most_cycles in all."`
	StopWhenSafe    *bool    `yaml:"stop_when_safe,omitempty" jsonschema_description:"A hunt ends early where fabricd verify says that with these faults nothing can deadlock: as soon as no packet is left that was in the network at the last fault. Hunts with a routing that is told the faults, or whose registers are no re-route vectors, do not."`
}

// DescribeField describes the fields that scenarios have too. It implements [document.Described].
func (Settings) DescribeField(name string) (document.Field, bool) {
	if !slices.Contains(shared, name) {
		return document.Field{}, false
	}
	return settings.Of(name).Field(), true
}

// shared are the fields that scenarios have too, under the same names.
var shared = []string{
	"vcs", "input_buffer", "output_buffer", "queueing", "selection", "waiting", "eager_credits", "packet_bytes",
	"queue_bytes",
}

// Load is a name for a load.
type Load struct {
	Name     string  `yaml:"name" jsonschema_description:"As saturated."`
	Topology string  `yaml:"topology,omitempty" jsonschema_description:"Only on this topology."`
	Traffic  string  `yaml:"traffic,omitempty" jsonschema_description:"Only with this traffic."`
	Load     float64 `yaml:"load" jsonschema_description:"Share of a link's capacity that each NIC offers, above 0 and at most 1."`
}

// hides reports whether l, which comes before, is taken wherever o is for.
func (l *Load) hides(o *Load) bool {
	return l.Name == o.Name && (l.Topology == "" || l.Topology == o.Topology) &&
		(l.Traffic == "" || l.Traffic == o.Traffic)
}

// Axis is something that differs between runs: one field of the settings, with its values, or
// several at once under names.
type Axis struct {
	Axis   string    `yaml:"axis" jsonschema_description:"A field of base; or, with of, a name of your own, which becomes a column."`
	Values []Value   `yaml:"values,omitempty" jsonschema_description:"Values of the field."`
	From   *float64  `yaml:"from,omitempty" jsonschema_description:"First of evenly spaced values."`
	To     *float64  `yaml:"to,omitempty" jsonschema_description:"Last of them."`
	Step   *float64  `yaml:"step,omitempty" jsonschema_description:"From one to the next; 1 unless given."`
	Of     []Variant `yaml:"of,omitempty" jsonschema_description:"Fields that change together, under a name."`
}

// Variant is one point of an axis on which several fields change together.
type Variant struct {
	Name     string `yaml:"name" jsonschema_description:"What tables and legends call it, as DDLR."`
	Settings `yaml:",inline"`
}

// Quick is what the quick form does otherwise.
type Quick struct {
	Samples int             `yaml:"samples" jsonschema:"minimum=1" jsonschema_description:"Runs of each combination."`
	Base    Settings        `yaml:"base,omitempty" jsonschema_description:"What differs from base; axes still override it."`
	Axes    map[string]Some `yaml:"axes,omitempty" jsonschema_description:"By the name of an axis: the points that are run."`
}

// Plot is a picture, or one for each value of an axis.
type Plot struct {
	Name       string          `yaml:"name" jsonschema_description:"File name without its end."`
	Title      string          `yaml:"title" jsonschema_description:"What stands above it."`
	X          string          `yaml:"x" jsonschema_description:"Axis or column along the bottom. With cumulative it is left empty."`
	Y          string          `yaml:"y" jsonschema_description:"Column of the results; of deadlocked, connected and the like it is the share of runs."`
	Series     []string        `yaml:"series,omitempty" jsonschema_description:"Axes: a curve for each combination. The first has a colour for each value, the second a kind of line."`
	Split      string          `yaml:"split,omitempty" jsonschema_description:"Axis: a picture for each value, which is added to the name and the title."`
	Where      map[string]Some `yaml:"where,omitempty" jsonschema_description:"Only points with these values of these axes."`
	XLabel     string          `yaml:"x_label,omitempty"`
	YLabel     string          `yaml:"y_label,omitempty"`
	Percent    bool            `yaml:"percent,omitempty" jsonschema_description:"Print a share as percent."`
	LogX       bool            `yaml:"log_x,omitempty" jsonschema_description:"The horizontal axis is logarithmic."`
	LogY       bool            `yaml:"log_y,omitempty" jsonschema_description:"The vertical axis is logarithmic."`
	FromZero   bool            `yaml:"from_zero,omitempty" jsonschema_description:"The vertical axis begins at 0."`
	Bars       string          `yaml:"bars,omitempty" jsonschema:"enum=interval,enum=range" jsonschema_description:"interval, unless given: bars are the 95% interval of the mean. range: they reach from the least to the largest of the samples."`
	Cumulative bool            `yaml:"cumulative,omitempty" jsonschema_description:"Draw the share of runs whose y, a number of cycles, has come by the time along the bottom; runs with -1 there never come."`
	Vertical   []Vertical      `yaml:"vertical,omitempty" jsonschema_description:"Vertical lines, as papers mark k-1 faults."`
}

// Vertical is a vertical line in a plot.
type Vertical struct {
	At    Value           `yaml:"at" jsonschema_description:"Where it crosses the bottom; of loads a name too."`
	Label string          `yaml:"label,omitempty"`
	Where map[string]Some `yaml:"where,omitempty" jsonschema_description:"Only in pictures of points with these values."`
}

// Check is a statement, and how to see from the results whether it holds.
type Check struct {
	Says    string           `yaml:"says" jsonschema_description:"The statement."`
	Ref     string           `yaml:"ref" jsonschema_description:"Who says so: authors, title, section."`
	Paper   string           `yaml:"paper,omitempty" jsonschema_description:"The value that they give, as they print it."`
	Value   string           `yaml:"value" jsonschema_description:"Column of the results: of numbers it is the mean, of deadlocked, connected and the like the share of runs."`
	Take    string           `yaml:"take,omitempty" jsonschema:"enum=mean,enum=least,enum=largest,enum=spread" jsonschema_description:"What is taken of the samples of a point: their mean, unless given; the least or the largest of them, or how far these are apart. But for the mean it is of these samples, and has no interval."`
	Where   map[string]Some  `yaml:"where,omitempty" jsonschema_description:"Points that it is about, by axis; all unless given."`
	Against map[string]Value `yaml:"against,omitempty" jsonschema_description:"Compare each of them with the point that has these values instead."`
	As      string           `yaml:"as,omitempty" jsonschema:"enum=ratio,enum=difference,enum=percent" jsonschema_description:"How they are compared: a/b, a-b, or (a/b-1) in percent; ratio unless given."`
	Per     string           `yaml:"per,omitempty" jsonschema_description:"Divide by how far the two points are apart on this axis."`
	Scale   *float64         `yaml:"scale,omitempty" jsonschema_description:"Multiply by this."`
	Of      string           `yaml:"of,omitempty" jsonschema:"enum=every,enum=mean,enum=any" jsonschema_description:"Of several points every one must hold, unless given: their mean, or any."`
	AtLeast *float64         `yaml:"at_least,omitempty"`
	AtMost  *float64         `yaml:"at_most,omitempty"`
	Above   *float64         `yaml:"above,omitempty"`
	Below   *float64         `yaml:"below,omitempty"`
	Why     string           `yaml:"why,omitempty" jsonschema_description:"Why it is otherwise here, where that is known: reports say so of a statement that does not hold, or is open."`
	Must    bool             `yaml:"must,omitempty" jsonschema_description:"It is a claim of ours: the command fails when it does not hold."`
}

// Schema is the JSON Schema of experiment files, as docs/schema/experiment.schema.json publishes
// it.
func Schema() ([]byte, error) {
	return document.Schema(File{}, "experiment")
}
