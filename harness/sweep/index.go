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
	Versions   []string  `json:"versions"`           // of the program that made the runs
	Firmware   []string  `json:"firmware,omitempty"` // that is not of the program, with its SHA-256
	Points     int       `json:"points"`
	Samples    int       `json:"samples"`
	Least      int       `json:"least_samples,omitempty"`
	Runs       int       `json:"runs"`
	Excluded   int       `json:"excluded"` // runs that means leave out
	Findings   []Finding `json:"findings"`

	folder string
}

// Index writes DIR/README.md: a row for each folder of dir that has the results of an experiment, all
// their statements, and the names of other pages in dir. It returns how many
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
	b.WriteString(indexHead + " For each experiment there is a folder with its results (docs/howto/sweep.md says how they " +
		"are made); the command makes them again.\n\n")
	all := texttable.New("experiment", "what it measures", "version", "points", "samples", "runs", "left out of means",
		"holds", "not", "open", "not run")
	for _, r := range list {
		n := map[string]int{}
		for _, f := range r.Findings {
			n[f.verdict()]++
		}
		all.Row(r.folder, firstSentence(r.About), orUnknown(strings.Join(r.Versions, ", ")), r.Points, r.samples(), r.Runs, r.Excluded,
			n[Holds], n[HoldsNot], n[Unsure], n[NotRun])
	}
	_ = all.Markdown(&b) // to memory
	b.WriteString("\nA statement holds, or does not, where the interval of ours lies on one side of the bound. It is open " +
		"where it reaches over. " + aboutIntervals)
	for _, r := range list {
		if len(r.Findings) > 0 {
			fmt.Fprintf(&b, "\n## %s\n\n    %s\n\n%s", r.folder, strings.TrimSpace(r.Command), comparison(r.Findings))
		}
	}
	if len(pages) > 0 {
		fmt.Fprintf(&b, "\n## Beside the experiments\n\n- %s\n", strings.Join(pages, "\n- "))
	}
	return b.String()
}

// verdict is one of [Holds], [HoldsNot], [Unsure] and [NotRun].
func (f *Finding) verdict() string {
	if strings.HasSuffix(f.Holds, Unsure) {
		return Unsure
	}
	return f.Holds
}

// samples is how many samples the points have.
func (r record) samples() string {
	if r.Least > 0 {
		return fmt.Sprintf("%d to %d", r.Least, r.Samples)
	}
	return strconv.Itoa(r.Samples)
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
