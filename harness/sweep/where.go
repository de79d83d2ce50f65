package sweep

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ParseWhere reads choices of points, each AXIS=VALUE; several of one axis are any of them. Whether
// there is such an axis and such a value, the experiment says.
func ParseWhere(list []string) (map[string]Some, error) {
	if len(list) == 0 {
		return nil, nil
	}
	m := map[string]Some{}
	for _, text := range list {
		axis, v, ok := strings.Cut(text, "=")
		if !ok || axis == "" || v == "" {
			return nil, fmt.Errorf("the choice %q is not AXIS=VALUE, as topology=kary-ntree:4,3; say it once for each value",
				text)
		}
		m[axis] = append(m[axis], Value(v))
	}
	return m, nil
}

// only is p with some of its points.
func (p *plan) only(where map[string]Some) (*plan, error) {
	if len(where) == 0 {
		return p, nil
	}
	less := *p
	less.axes, less.points = nil, nil
	for _, name := range slices.Sorted(maps.Keys(where)) {
		if p.index(name) < 0 {
			return nil, unknownAxis(name, p)
		}
	}
	for _, a := range p.axes {
		some, chosen := where[a.name]
		for _, v := range some {
			if !Some(a.values).has(v) {
				return nil, unknownValue(a, v)
			}
		}
		if !chosen {
			less.axes = append(less.axes, a)
			continue
		}
		b := axis{name: a.name, plain: a.plain}
		for i, v := range a.values {
			if some.has(v) {
				b.values, b.sets, b.paths = append(b.values, v), append(b.sets, a.sets[i]), append(b.paths, a.paths[i])
			}
		}
		less.axes = append(less.axes, b)
	}
	for i := range p.points {
		if p.points[i].fits(p, where) {
			less.points = append(less.points, p.points[i])
		}
	}
	return &less, nil
}
