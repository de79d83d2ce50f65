package main

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/weft-fabric/weft/harness/chart"
)

// theirs are the times of OpenSM's LASH, of graphs of the same kind, as `go run
// ./scenarios/papers/layered/opensm beside FOLDER` has left them in the folder; none when it has
// not. Graphs that it refused have no time.
func theirs(folder string) ([]chart.Point, error) {
	path := filepath.Join(folder, "opensm.csv")
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	times := map[int][]float64{} // by size
	for i, cells := range lines {
		if i == 0 {
			if len(cells) < 4 || cells[0] != "topology" || cells[2] != "opensm_refused" || cells[3] != "opensm_ms" {
				return nil, fmt.Errorf("%s: the columns are %q, expected topology, .., opensm_refused, opensm_ms", path, cells)
			}
			continue
		}
		var switches int
		if _, err := fmt.Sscanf(cells[0], "irregular:%d,", &switches); err != nil {
			return nil, fmt.Errorf("%s:%d: topology %q, expected irregular:SWITCHES,LINKS,SEED", path, i+1, cells[0])
		}
		took, err := strconv.ParseFloat(cells[3], 64)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: opensm_ms: %w", path, i+1, err)
		}
		if cells[2] != "true" {
			times[switches] = append(times[switches], took)
		}
	}
	var points []chart.Point
	for n, list := range times {
		slices.Sort(list)
		points = append(points, chart.Point{X: float64(n), Y: list[len(list)/2], Low: list[0], High: list[len(list)-1]})
	}
	slices.SortFunc(points, func(a, b chart.Point) int { return cmp.Compare(a.X, b.X) })
	return points, nil
}
