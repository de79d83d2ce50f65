package up

import (
	"strings"

	"github.com/weft-fabric/weft/fabricd/document/table"
	"github.com/weft-fabric/weft/nic"
)

// trafficHelp says what --traffic takes.
func trafficHelp() string {
	t := table.Table{Gap: 2}
	list := func(title string, words [][2]string) {
		t.Row("\n" + title)
		for _, p := range words {
			t.Row("  "+p[0], p[1])
		}
	}
	list("Traffic is PATTERN:LOAD, with options after commas, as uniform:0.2,arrivals=bursts or "+
		"hotspot:0.2,hot=4,share=0.1; i is a NIC's number:", nic.Patterns())
	list("arrivals= is by which process packets come; the mean is the load in any case:", nic.Processes())
	list("sizes= is which packets have how many bytes, as 256 or a mix:",
		[][2]string{{"64:0.6/1500:0.4", "60% of the packets have 64 bytes, 40% have 1500"}})
	var b strings.Builder
	_ = t.Text(&b) // to memory
	return strings.Trim(b.String(), "\n")
}

// trafficWords completes --traffic.
func trafficWords() []string {
	var words []string
	for _, p := range nic.Patterns() {
		switch p[0] {
		case "none":
			words = append(words, p[0])
		case "trace":
			words = append(words, "trace:")
		default:
			words = append(words, p[0]+":0.2")
		}
	}
	return words
}
