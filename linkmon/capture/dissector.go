package capture

import _ "embed" // the dissector

// Dissector is the Wireshark dissector for the records of this version, in Lua.
//
//go:embed weft.lua
var Dissector string
