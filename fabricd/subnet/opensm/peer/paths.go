package peer

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/weft-fabric/weft"
)

// PathSLs asks a running OpenSM for the service level of the path of each pair of NICs, one by one:
// answers of several packets do not come through the simulator. lid says the LID of a NIC; options
// are those that OpenSM was given for its tables. What it returns is read by opensm.Files.PathSL.
func (s *Sim) PathSLs(ctx context.Context, engine string, lid func(weft.NICID) int, options ...string) (string, error) {
	program, err := find("saquery")
	if err != nil {
		return "", err
	}
	m, err := s.manage(ctx, engine, append([]string{"-d", "2"}, options...)...) // a log that is written at once
	if err != nil {
		return "", err
	}
	defer m.stop()
	for !contains(m.log, "SUBNET UP") {
		if !wait(ctx) {
			return "", fmt.Errorf("opensm -R %s: %w\n%s", engine, context.Cause(ctx), tail(m.log))
		}
	}
	var b strings.Builder
	fmt.Fprintln(&b, "# slid dlid sl")
	for _, src := range s.graph.NICs {
		for _, dst := range s.graph.NICs {
			if src.ID == dst.ID {
				continue
			}
			from, to := lid(src.ID), lid(dst.ID)
			cmd := exec.CommandContext(ctx, program, "-p", "--src-to-dst", fmt.Sprintf("%d:%d", from, to))
			cmd.Env = s.env()
			out, err := cmd.Output()
			if err != nil {
				return "", fmt.Errorf("saquery for the path from LID %d to %d: %w\n%s", from, to, err, out)
			}
			_, after, ok := strings.Cut(string(out), "\t\tsl......................0x")
			var sl uint8
			if _, err := fmt.Sscanf(after, "%x", &sl); err != nil || !ok {
				return "", fmt.Errorf("saquery for the path from LID %d to %d: no service level in %q", from, to, out)
			}
			fmt.Fprintln(&b, from, to, sl)
		}
	}
	return b.String(), nil
}
