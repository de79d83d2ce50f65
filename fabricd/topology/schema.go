package topology

import "github.com/weft-fabric/weft/fabricd/document"

// file is a topology file: a generated topology, or a listing. The output of WriteJSON is one too.
type file struct {
	Generate    string   `yaml:"generate,omitempty" json:"-" jsonschema_description:"The spec of a regular topology, as kary-ntree:4,3. Nothing but remove_links may stand beside it."`
	RemoveLinks []string `yaml:"remove_links,omitempty" json:"-" jsonschema_description:"Links, by name, to take away from what generate makes. Their ports stay, unconnected."`

	Spec     string       `yaml:"spec,omitempty" json:"spec,omitempty" jsonschema_description:"The spec of the generator that made this listing. The listing must be what it makes, but for missing links; the switches then know their places in it. Take it away after other changes."`
	Kind     string       `yaml:"kind,omitempty" json:"kind,omitempty" jsonschema_description:"The kind of topology that spec makes, or file. Written for those who read the listing."`
	Layout   fileLayout   `yaml:"layout,omitempty" json:"layout,omitzero" jsonschema_description:"How x and y below were found. Written for those who draw the listing, and not read."`
	Switches []fileSwitch `yaml:"switches,omitempty" json:"switches" jsonschema_description:"The switches, numbered from 0 in this order."`
	NICs     []fileNIC    `yaml:"nics,omitempty" json:"nics" jsonschema_description:"The NICs, numbered from 0 in this order. Each has one link, given by its switch here or among the links."`
	Links    []fileLink   `yaml:"links,omitempty" json:"links" jsonschema_description:"The links, numbered from 0 in this order."`
}

type fileSwitch struct {
	ID     string   `yaml:"id" json:"id" jsonschema:"minLength=1,maxLength=64" jsonschema_description:"Its name: letters, digits, '.', '_' and '-'."`
	Ports  *int     `yaml:"ports,omitempty" json:"ports,omitempty" jsonschema:"minimum=1,maximum=256" jsonschema_description:"How many ports it has. Default: as many as its links need."`
	Tier   *int     `yaml:"tier,omitempty" json:"tier,omitempty" jsonschema:"minimum=0" jsonschema_description:"Its tier in a tree, 0 at the top. Only in a listing with spec."`
	Digits []int    `yaml:"digits,omitempty" json:"digits,omitempty" jsonschema_description:"Its digits in a tree. Only in a listing with spec."`
	Coord  []int    `yaml:"coord,omitempty" json:"coord,omitempty" jsonschema_description:"Its coordinates in a mesh, torus or ring. Only in a listing with spec."`
	GUID   string   `yaml:"guid,omitempty" json:"guid,omitempty" jsonschema_description:"Its GUID in InfiniBand, as 0x0002c90300a1b2c3, by which tables of a subnet manager name it. Default: one made of its number."`
	X      *float64 `yaml:"x,omitempty" json:"x,omitempty" jsonschema_description:"Where it is drawn, in distances of two neighbouring switches, from the left. Not read."`
	Y      *float64 `yaml:"y,omitempty" json:"y,omitempty" jsonschema_description:"The same, from the top."`
}

type fileNIC struct {
	ID         string   `yaml:"id" json:"id" jsonschema:"minLength=1,maxLength=64" jsonschema_description:"Its name: letters, digits, '.', '_' and '-'."`
	Switch     string   `yaml:"switch,omitempty" json:"switch,omitempty" jsonschema_description:"The switch it is linked to. Makes the link, numbered after those listed, unless it is listed."`
	SwitchPort *int     `yaml:"switch_port,omitempty" json:"switch_port,omitempty" jsonschema:"minimum=0,maximum=255" jsonschema_description:"The port of that switch. Default: the lowest free one, after the links have theirs."`
	GUID       string   `yaml:"guid,omitempty" json:"guid,omitempty" jsonschema_description:"The GUID of its port in InfiniBand, as 0x0002c90300a1b2c3. Default: one made of its number."`
	X          *float64 `yaml:"x,omitempty" json:"x,omitempty" jsonschema_description:"Where it is drawn, in distances of two neighbouring switches, from the left. Not read."`
	Y          *float64 `yaml:"y,omitempty" json:"y,omitempty" jsonschema_description:"The same, from the top."`
}

type fileLayout struct {
	Kind   string  `yaml:"kind" json:"kind" jsonschema_description:"tree, grid, planes, ring or free."`
	Width  float64 `yaml:"width" json:"width" jsonschema_description:"In distances of two neighbouring switches."`
	Height float64 `yaml:"height" json:"height" jsonschema_description:"The same."`
}

type fileLink struct {
	ID    string  `yaml:"id,omitempty" json:"id,omitempty" jsonschema_description:"Its name, which follows from its ends: a-b, or a:port-b:port for one of several between the same two. Checked."`
	A     string  `yaml:"a" json:"a" jsonschema_description:"The switch or NIC at one end."`
	APort *int    `yaml:"a_port,omitempty" json:"a_port,omitempty" jsonschema:"minimum=0,maximum=255" jsonschema_description:"The port at a, from 0. Default: the lowest free one, in the order of the file."`
	B     string  `yaml:"b" json:"b" jsonschema_description:"The switch or NIC at the other end."`
	BPort *int    `yaml:"b_port,omitempty" json:"b_port,omitempty" jsonschema:"minimum=0,maximum=255" jsonschema_description:"The port at b, from 0. Default: the lowest free one, in the order of the file."`
	Bend  float64 `yaml:"bend,omitempty" json:"bend,omitempty" jsonschema_description:"How far the drawing of the link runs beside the straight way, to the left from a to b. Not read."`
}

// Schema is the JSON Schema of topology files, docs/schema/topology.schema.json.
func Schema() ([]byte, error) { return document.Schema(file{}, "topology") }
