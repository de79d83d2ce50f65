// Package ibnet reads and writes the topology files of InfiniBand, as ibnetdiscover prints them and
// ibsim takes them: a block for each switch and channel adapter, with a line for each connected
// port. Package topology makes graphs of them.
//
// A block is
//
//	vendid=0x2c9
//	switchguid=0x200000(200000)
//	Switch	4 "S-0000000000200000"		# "L0-0" enhanced port 0 lid 2 lmc 0
//	[1]	"H-0000000000100000"[1](100001) 		# "host0 HCA-1" lid 1 4xQDR
//	[3]	"S-0000000000200002"[1]		# "L1-0" lid 4 4xQDR
//
// or, for an adapter, with Ca, caguid and lines such as
//
//	[1](100001) 	"S-0000000000200000"[1]		# lid 1 lmc 0 "L0-0" lid 2 4xQDR
//
// The comments carry the description, the LID and the LMC, and are read as far as they are there.
// GUIDs may be missing, as ibsim allows; then the name holds them, S- or H- and 16 hexadecimal
// digits, or nobody. Lines of chassis are skipped.
package ibnet
