// Package document reads the YAML files people write for Weft, topologies and scenarios, and says
// what is wrong with them.
//
// A file is decoded strictly: every field must be known and every value of the type its field asks
// for. Nothing is guessed: 1.10 is a number, not the name "1.10", and must be quoted to be one. All
// mistakes are reported at once, each with its place:
//
//	fabric.yaml:12:5: unknown field "a_prt": did you mean "a_port"? known: a, a_port, b, b_port, id
//
// A mistake that only the reader of the values can find, such as a link to a switch that is not
// there, is pointed at afterwards with [Doc.Errorf] and the YAML path of the value.
//
// # Limits
//
// A file is at most [MaxSize] bytes and holds one document. Anchors, aliases, merge keys, tags,
// directives and "? " keys are refused: no file of ours needs them, and they are how a small file
// becomes a large one. Nesting is bounded. JSON is read as well, being YAML.
package document
