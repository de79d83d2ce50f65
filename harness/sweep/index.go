package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	texttable "github.com/weft-fabric/weft/fabricd/document/table"
)

// Names in a folder of results.
const (
	recordName = "report.json"
	readmeName = "README.md"

	comparisonName, runsName, summaryName = "comparison.md", "runs.csv", "summary.csv"
)

// record is what report.json keeps of an experiment: what an index tells of it. It has nothing of
// the start that wrote it, so that equal runs give equal files.
type record struct {
	Experiment string    `json:"experiment"`
	About      string    `json:"about"`
	Command    string    `json:"command"`
	Version    string    `json:"version"`
	Points     int       `json:"points"`
	Samples    int       `json:"samples"`
	Least      int       `json:"least_samples,omitempty"`
	Runs       int       `json:"runs"`
	Excluded   int       `json:"excluded"` // runs that means leave out
	Findings   []Finding `json:"findings"`

	folder string
}

// Index writes DIR/README.md: a row for each folder of dir that has the results of an experiment,
// the statements that do not hold, and the names of other pages in dir. It returns how many
// experiments there are.
func Index(dir string) (int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	var list []record
	var pages []string
	for _, e := range entries {
		switch {
		case e.IsDir():
			r, err := readRecord(filepath.Join(dir, e.Name()))
			if errors.Is(err, fs.ErrNotExist) {
				continue // a folder of something else
			}
			if err != nil {
				return 0, err
			}
			list = append(list, r)
		case filepath.Ext(e.Name()) == ".md" && e.Name() != readmeName:
			page, err := pageLink(dir, e.Name())
			if err != nil {
				return 0, err
			}
			pages = append(pages, page)
		}
	}
	if len(list) == 0 {
		return 0, fmt.Errorf("%s has no folder with results of an experiment: run fabricd sweep with --out %s/NAME first", dir, dir)
	}
	slices.SortFunc(list, func(a, b record) int { return strings.Compare(natural(a.folder), natural(b.folder)) })
	text := indexText(list, pages)
	page := filepath.Join(dir, readmeName)
	if was, err := os.ReadFile(page); err == nil && !bytes.HasPrefix(was, []byte(indexHead)) {
		return 0, fmt.Errorf("%s is no index that fabricd sweep --report has written: move it, or name another folder", page)
	}
	return len(list), replace(page, []byte(text))
}

func readRecord(dir string) (r record, err error) {
	path := filepath.Join(dir, recordName)
	data, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	err = json.Unmarshal(data, &r)
	if err == nil && r.Experiment == "" {
		err = errors.New("it names no experiment")
	}
	if err != nil {
		return r, fmt.Errorf("%s is not what fabricd sweep writes: %w: repeat the sweep into that folder, or remove the file", path, err)
	}
	r.folder = filepath.Base(dir)
	return r, nil
}

var number = regexp.MustCompile(`[0-9]+`)

// natural is a key that sorts fig9 before fig10.
func natural(name string) string {
	return number.ReplaceAllStringFunc(name, func(n string) string { return fmt.Sprintf("%020s", n) })
}

var heading = regexp.MustCompile(`(?m)^# +(.+)$`)

// pageLink names a page by its first heading.
func pageLink(dir, name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return "", err
	}
	title := name
	if m := heading.FindSubmatch(data); m != nil {
		title = strings.TrimSpace(string(m[1]))
	}
	return fmt.Sprintf("[%s](%s)", title, name), nil
}

// indexHead is how an index begins: by it we know that we may replace one.
const indexHead = "# Results\n\nWritten by `fabricd sweep --report`, not by hand."

func indexText(list []record, pages []string) string {
	var b strings.Builder
	b.WriteString(indexHead + " Each folder has the results of one experiment (docs/howto/sweep.md says how); " +
		"the command makes them again.\n\n")
	all := texttable.New("experiment", "what it measures", "command", "version", "points", "samples", "runs",
		"left out of means", "statements")
	for _, r := range list {
		all.Row(r.link(), firstSentence(r.About), "`"+strings.TrimSpace(r.Command)+"`", orUnknown(r.Version),
			r.Points, r.samples(), r.Runs, r.Excluded, verdicts(r.Findings))
	}
	_ = all.Markdown(&b) // to memory
	b.WriteString("\nA statement holds (*yes*) or not (*no*) by the mean; it is *unsure* where the 95% interval reaches over the bound.\n")
	differ := texttable.New("experiment", "statement", "paper", "ours", "holds")
	for _, r := range list {
		for _, f := range r.Findings {
			if f.refuted() {
				differ.Row(r.link(), f.Says, f.Paper, f.Ours, f.Holds)
			}
		}
	}
	if differ.Len() > 1 {
		b.WriteString("\n## What does not hold here\n\n")
		_ = differ.Markdown(&b) // to memory
	}
	if len(pages) > 0 {
		fmt.Fprintf(&b, "\n## Beside the experiments\n\n- %s\n", strings.Join(pages, "\n- "))
	}
	return b.String()
}

// samples is how many samples the points have.
func (r record) samples() string {
	if r.Least > 0 {
		return fmt.Sprintf("%d to %d", r.Least, r.Samples)
	}
	return strconv.Itoa(r.Samples)
}

// link leads to the folder of an experiment.
func (r record) link() string { return fmt.Sprintf("[%s](%s/%s)", r.folder, r.folder, readmeName) }

// verdicts counts how often each verdict was found.
func verdicts(list []Finding) string {
	var parts []string
	for _, v := range []string{Holds, Holds + ", " + Unsure, HoldsNot, HoldsNot + ", " + Unsure, NotRun} {
		n := 0
		for _, f := range list {
			n += b2i(f.Holds == v)
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, strings.ReplaceAll(v, ", ", " but ")))
		}
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

var sentenceEnd = regexp.MustCompile(`[.:;]\s`)

// firstSentence is what stands before the first stop, colon or semicolon.
func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if at := sentenceEnd.FindStringIndex(text); at != nil {
		return text[:at[0]]
	}
	return strings.TrimSuffix(text, ".")
}
