package sweep

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"

	texttable "github.com/weft-fabric/weft/fabricd/document/table"
	"github.com/weft-fabric/weft/fabricd/safefile"
)

// write writes all files of a folder. Each appears whole or not at all.
func (w *start) write(findings []Finding) (*Report, error) {
	t := w.table()
	r := &Report{
		Experiment: w.e.Name, Dir: w.Dir, Quick: w.Quick, Points: len(w.plan.points),
		Samples: slices.Max(w.samples), Runs: w.total, Earlier: w.total - w.made,
		Findings: findings, Notes: []string{},
	}
	if least := slices.Min(w.samples); least != r.Samples {
		r.Least = least
	}
	for _, f := range r.Findings {
		r.Failed += b2i(f.Must && f.refuted())
	}
	r.Versions, r.Firmware = t.versions(), t.firmware()
	ours := func(v string) bool { return v == orUnknown(w.Version) }
	r.Again = w.remade
	if others := slices.DeleteFunc(slices.Clone(r.Versions), ours); len(others) > 0 && r.Again == nil {
		r.Notes = append(r.Notes, fmt.Sprintf(
			"runs were made by version %s of the program, and this is %s: --again 16 makes some of them once more, and "+
				"compares; remove %s to make all anew",
			english.OxfordWordSeries(others, "and"), orUnknown(w.Version), journalName))
	}
	if n := t.silent(); n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("no packet was generated in the window of %d of %d runs: their traffic is "+
			"too little, or a trace that ended during the warm-up", n, w.total))
	}
	pictures, empty := t.pictures()
	for _, name := range empty {
		if w.total == 0 {
			break // there is nothing at all
		}
		r.Notes = append(r.Notes, "nothing to draw for "+name)
	}
	put := func(name string, data []byte) error {
		r.Files = append(r.Files, name)
		return replace(filepath.Join(w.Dir, name), data)
	}
	for _, f := range []struct {
		name string
		rows [][]string
	}{{runsName, t.runsCSV()}, {summaryName, t.summaryCSV()}} {
		data, err := encodeCSV(f.rows)
		if err == nil {
			err = put(f.name, data)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, p := range pictures {
		files, err := p.save(w.Dir)
		if err != nil {
			return nil, err
		}
		r.Files = append(r.Files, files...)
	}
	said := comparison(r.Findings) + "\n" + aboutVerdicts + "\n" + madeBy(r) + "\n"
	if err := put(comparisonName, []byte(said)); err != nil {
		return nil, err
	}
	if err := put(readmeName, []byte(w.readme(t, r, pictures))); err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(w.record(t, r, pictures), "", "  ")
	if err != nil {
		return nil, err
	}
	r.Seconds, r.CPUSeconds = time.Since(w.began).Seconds(), (w.cpu() - w.computed).Seconds()
	return r, put(recordName, append(data, '\n'))
}

func (w *start) record(t *table, r *Report, pictures []picture) record {
	excluded, _ := t.excluded()
	figures := []shown{}
	for _, p := range pictures {
		figures = append(figures, shown{p.name, p.Title})
	}
	return record{
		Experiment: r.Experiment, About: strings.TrimSpace(w.e.About), Command: w.Command,
		Versions: r.Versions, Again: r.Again, Firmware: r.Firmware,
		Points: r.Points, Samples: r.Samples, Least: r.Least,
		Runs: r.Runs, Excluded: excluded, Findings: r.Findings, Figures: figures,
	}
}

// replace writes one file whole. The error names it and says what to do.
func replace(path string, data []byte) error { return repeatable(safefile.Write(path, data)) }

// repeatable says what to do when a file could not be written.
func repeatable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: make room or mend that; the same command writes it, and repeats no run", err)
}

func encodeCSV(rows [][]string) ([]byte, error) {
	var b bytes.Buffer
	c := csv.NewWriter(&b)
	err := c.WriteAll(rows)
	return b.Bytes(), err
}

// aboutVerdicts explains tables of statements of one experiment.
const aboutVerdicts = "*Unsure* is a statement where the interval reaches over the bound; *not run* one of which " +
	"this form has no points, or no " +
	"run of them counts. " + aboutIntervals

// aboutIntervals explains tables of statements.
const aboutIntervals = "Intervals are of 95%; with --settle they are as much wider as it takes for all stages together to err in 5% of " +
	"cases. *Samples* is how many runs of a point were looked at, of that with most where points differ.\n"

// comparison is the table of statements, and whose they are.
func comparison(list []Finding) string {
	var b strings.Builder
	rows := texttable.New("statement", "paper", "ours", "samples", "holds")
	var refs []string
	for _, f := range list {
		k := slices.Index(refs, f.Ref)
		if k < 0 {
			k = len(refs)
			refs = append(refs, f.Ref)
		}
		rows.Row(fmt.Sprintf("%s [%d]", strings.TrimSpace(f.Says), k+1), f.Paper, f.Ours, f.Samples, f.Holds)
	}
	_ = rows.Markdown(&b) // to memory
	b.WriteString("\n")
	for k, ref := range refs {
		fmt.Fprintf(&b, "[%d] %s\n", k+1, ref)
	}
	return b.String()
}

// readme says what the folder is, and how it was made. It has no date: equal runs give equal
// folders.
func (w *start) readme(t *table, r *Report, pictures []picture) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n    %s\n\n%s ", w.e.Name, strings.TrimSpace(w.e.About), w.Command,
		madeBy(r))
	each := english.Plural(r.Samples, "sample", "")
	if r.Least > 0 {
		each = fmt.Sprintf("%d to %s", r.Least, each)
	}
	fmt.Fprintf(&b, "%s, %s of each. %s\n", english.Plural(r.Points, "point", ""), each, excludedText(t))
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "\nNote: %s.\n", n)
	}
	b.WriteString("\n[summary.csv](summary.csv) has a row for each point, runs.csv one for each run. Columns are " +
		"explained in docs/howto/sweep.md.\n")
	if len(r.Findings) > 0 {
		b.WriteString("\n## What the paper says\n\n" + comparison(r.Findings) + "\n" + aboutVerdicts)
	}
	for _, p := range pictures {
		fmt.Fprintf(&b, "\n![%s](%s.svg)\n", p.Title, p.name)
	}
	return b.String()
}

// madeBy says which program made the results, and with which firmware.
func madeBy(r *Report) string {
	if len(r.Versions) == 0 {
		return "No runs yet."
	}
	text := "Version " + english.OxfordWordSeries(r.Versions, "and") + r.Again.text()
	for i, f := range r.Firmware {
		if i == 0 {
			text += ", with firmware "
		} else {
			text += ", "
		}
		text += f
	}
	return text + "."
}

// versions are those of the program that have made runs, sorted.
func (t *table) versions() []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(t.by...))))
}

// firmware are the modules and programs that ran, each with its SHA-256, as tables name routings.
func (t *table) firmware() (list []string) {
	for i := range t.plan.points {
		if pt := &t.plan.points[i]; pt.firmware != "" && len(t.rows[i]) > 0 {
			list = append(list, pt.set.text("routing")+" (SHA-256 "+pt.firmware+")")
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func orUnknown(version string) string { return cmp.Or(version, "unknown") }

// excludedText says what means leave out, and how often that was so.
func excludedText(t *table) string {
	why := strings.Join(t.e.Exclude, " or ")
	if why != "" {
		why = "were " + why
	}
	if slices.ContainsFunc(slices.Concat(t.rows...), row.unmeasured) {
		if why != "" {
			why += " or "
		}
		why += "ended before their window"
	}
	if why == "" {
		return "Means are of all runs."
	}
	n, all := t.excluded()
	return fmt.Sprintf("Means leave out runs that %s: %d of %d.", why, n, all)
}

// silent is how many runs that means count were measured while there was no traffic.
func (t *table) silent() (n int) {
	offered := columnAt("offered")
	for _, rows := range t.rows {
		for _, r := range rows {
			n += b2i(t.e.Measure == ofNetwork && r.number(offered) == 0 && t.included(r))
		}
	}
	return n
}

// excluded is how many runs means leave out, of how many.
func (t *table) excluded() (n, all int) {
	for _, rows := range t.rows {
		for _, r := range rows {
			all++
			n += b2i(!t.included(r))
		}
	}
	return n, all
}
