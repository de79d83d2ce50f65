package screen

import (
	"fmt"
	"testing"
)

func TestLook(t *testing.T) {
	for _, spec := range []string{"kary-ntree:4,3", "mesh:8x8", "torus:4x4x4", "irregular:16,32,1", "mport-tree:36,2"} {
		r := newRig(t, spec)
		r.traffic(20)
		if spec == "kary-ntree:4,3" {
			r.cut("s0.00-s1.00", "silent", false)
			r.traffic(3)
			r.cut("s0.00-s1.10", "signalled", true)
			r.traffic(20)
		}
		fmt.Println(spec)
		fmt.Println(r.screen())
		if spec == "kary-ntree:4,3" {
			for _, k := range []string{"2", "3", "4", "5", "6", "enter", "7", "?", "1", "tab", "c"} {
				r.press(k)
				fmt.Println("KEY", k)
				fmt.Println(r.screen())
			}
		}
	}
}
