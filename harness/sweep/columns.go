package sweep

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft/harness/measure"
)

// column is a field of measure.Result as tables have it.
type column struct {
	name string
	kind reflect.Kind // Float64, Int, Int64, Uint64, Bool or String
}

// timed reports whether a column is how long something took.
func (c column) timed() bool { return strings.HasSuffix(c.name, "seconds") }

// columns are those of a result. What has the name of a setting (the faults that happened, not
// those asked for) is told apart by "measured_".
var columns = func() (list []column) {
	for f := range reflect.TypeFor[measure.Result]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("csv"), ",")
		if slices.Contains(settingNames, name) {
			name = "measured_" + name
		}
		list = append(list, column{name, f.Type.Kind()})
	}
	return list
}()

// columnAt is the place of the column of that name, -1 when there is none.
func columnAt(name string) int {
	return slices.IndexFunc(columns, func(c column) bool { return c.name == name })
}

// numeric reports whether a column has a mean, counted reports whether it has a share of runs.
func (c column) numeric() bool { return c.kind != reflect.Bool && c.kind != reflect.String }
func (c column) counted() bool { return c.kind == reflect.Bool }

// measurable are the names of the columns that a plot or a check can be about.
func measurable() (list []string) {
	for _, c := range columns {
		if c.kind != reflect.String {
			list = append(list, c.name)
		}
	}
	return list
}

// row is a result as text, a cell for each column; the text of a number is the shortest that reads
// back as the same.
type row []string

func rowOf(r measure.Result) row {
	v := reflect.ValueOf(r)
	cells := make(row, len(columns))
	for i := range columns {
		if x, ok := v.Field(i).Interface().(float64); ok {
			cells[i] = formatFloat(x)
		} else {
			cells[i] = fmt.Sprint(v.Field(i).Interface())
		}
	}
	return cells
}

// check reports what is wrong with cells that were read from a file.
func (r row) check() error {
	if len(r) != len(columns) {
		return fmt.Errorf("%d cells, expected %d", len(r), len(columns))
	}
	for i, c := range columns {
		var err error
		switch {
		case c.counted():
			_, err = strconv.ParseBool(r[i])
		case c.numeric():
			_, err = strconv.ParseFloat(r[i], 64)
		}
		if err != nil {
			return fmt.Errorf("%s is %q", c.name, r[i])
		}
	}
	return nil
}

// number is a cell as a number, true being 1; it is NaN for text.
func (r row) number(i int) float64 {
	switch r[i] {
	case "true":
		return 1
	case "false":
		return 0
	}
	x, err := strconv.ParseFloat(r[i], 64)
	if err != nil {
		return math.NaN()
	}
	return x
}

func (r row) is(name string) bool { return r[columnAt(name)] == "true" }

// unmeasured reports whether a run ended before its window, by a bound or a deadlock: its rates and
// latencies are 0 then, which nobody has measured.
func (r row) unmeasured() bool {
	cycles := r.number(columnAt("cycles"))
	return cycles > 0 && r.number(columnAt("warmup_cycles")) == cycles
}

// ownColumns are the columns beside axes and results.
var ownColumns = []string{"sample", "seed", "graph", "runs", "included", "point", "version", "firmware"}
