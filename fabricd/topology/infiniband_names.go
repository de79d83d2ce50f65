package topology

import (
	"fmt"
	"strings"
)

// ibNames finds a usable name for each switch, port 0 of its block, and each connected port of an
// adapter: the first of its candidates that is nobody else's.
func ibNames(f *ibFabric) map[ibEnd]string {
	candidates := make(map[ibEnd][]string)
	var order []ibEnd
	add := func(e ibEnd, names ...string) {
		order = append(order, e)
		for _, name := range names {
			if checkName(name) == nil {
				candidates[e] = append(candidates[e], name)
			}
		}
	}
	for i, b := range f.Nodes {
		desc := ibName(b.Description)
		if b.Kind == ibSwitch {
			add(ibEnd{i, 0}, desc, ibName(b.Name), fmt.Sprintf("switch-%d", i))
			continue
		}
		host, _, _ := strings.Cut(b.Description, " ") // "host0 HCA-1": the device is of interest when there are two
		for _, p := range b.Connected {
			if len(b.Connected) == 1 {
				add(ibEnd{i, p.Number}, ibName(host), desc, ibName(b.Name), fmt.Sprintf("nic-%d", i))
				continue
			}
			at := fmt.Sprintf("-p%d", p.Number)
			add(ibEnd{i, p.Number}, ibName(host)+at, desc+at, ibName(b.Name)+at, fmt.Sprintf("nic-%d-p%d", i, p.Number))
		}
	}
	count := make(map[string]int)
	for _, e := range order {
		seen := make(map[string]bool)
		for _, name := range candidates[e] {
			if !seen[name] {
				seen[name] = true
				count[name]++
			}
		}
	}
	names := make(map[ibEnd]string, len(order))
	for _, e := range order {
		for _, name := range candidates[e] {
			if names[e] = name; count[name] == 1 {
				break
			}
		}
	}
	return names
}

// ibName makes a name of a description: what names may not hold becomes '-', and nothing stands
// around it.
func ibName(description string) string {
	if checkName(description) == nil {
		return description
	}
	var b strings.Builder
	for _, r := range description {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-._")
}
