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
	"strings"
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
	Versions   []string  `json:"versions"` // of the program that made the runs
	Again      *Again    `json:"again,omitempty"`
	Firmware   []string  `json:"firmware,omitempty"` // that is not of the program, with its SHA-256
	Points     int       `json:"points"`
	Samples    int       `json:"samples"`
	Least      int       `json:"least_samples,omitempty"`
	Runs       int       `json:"runs"`
	Excluded   int       `json:"excluded"` // runs that means leave out
	Findings   []Finding `json:"findings"`
	Figures    []shown   `json:"figures"`

	folder string
}

// shown is a figure of an experiment.
type shown struct {
	Name  string `json:"name"` // of the file, without .svg
	Title string `json:"title"`
}

// Index writes DIR/README.md: for each paper what it says, and what the results below dir show of
// it, and the names of other pages in dir. It returns how many experiments there are.
func Index(dir string) (int, error) {
	list, pages, err := collect(dir)
	if err != nil {
		return 0, err
	}
	figure := func(r record, s shown) string { return r.folder + "/" + s.Name + ".svg" }
	text := indexHead + resultsText(list, figure)
	if len(pages) > 0 {
		text += "\n## Beside the experiments\n\n- " + strings.Join(pages, "\n- ") + "\n"
	}
	return len(list), put(filepath.Join(dir, readmeName), indexHead, text)
}

// claimsName is the page that [Publish] writes, claimsData what it was last written of, claimsHead
// its beginning, claimsFigures how its figures are called.
const (
	claimsName    = "claims.md"
	claimsData    = "claims.json"
	claimsHead    = "# What the papers say, and what we measured\n\nWritten by `make figures`, not by hand."
	claimsFigures = "claims-"
)

// Publish writes TO/claims.md: what [Index] says of the results below dir. A figure of each
// experiment is copied to where the page is, and its runs to TO/runs, for [Restore]. An experiment
// that is not below dir keeps what the page says of it and its figure, by TO/claims.json: so the page
// can be made in parts, on several machines. Publish returns how many experiments it has taken from
// dir.
func Publish(dir, to string) (int, error) {
	list, _, err := collect(dir)
	if err != nil {
		return 0, err
	}
	all, err := published(to)
	if err != nil {
		return 0, err
	}
	figures := map[string]bool{}
	name := func(r record, s shown) string { return claimsFigures + r.folder + "-" + s.Name + ".svg" }
	for _, r := range list {
		all[r.folder] = r
	}
	page := make([]record, 0, len(all))
	for folder, r := range all {
		r.folder = folder
		page = append(page, r)
		if len(r.Figures) > 0 {
			figures[filepath.Join(to, name(r, r.Figures[0]))] = true
		}
	}
	sortRecords(page)
	if err := put(filepath.Join(to, claimsName), claimsHead, claimsHead+resultsText(page, name)); err != nil {
		return 0, err
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = replace(filepath.Join(to, claimsData), append(data, '\n'))
	}
	old, globbed := filepath.Glob(filepath.Join(to, claimsFigures+"*.svg"))
	err = errors.Join(err, globbed)
	for _, path := range old {
		if !figures[path] {
			err = errors.Join(err, os.Remove(path))
		}
	}
	for _, r := range list {
		if err == nil {
			err = r.keep(dir, to)
		}
		if len(r.Figures) == 0 || err != nil {
			continue
		}
		if data, err = os.ReadFile(filepath.Join(dir, r.folder, r.Figures[0].Name+".svg")); err == nil {
			err = replace(filepath.Join(to, name(r, r.Figures[0])), data)
		}
	}
	return len(list), err
}

// published are the experiments of the page that is there, by folder.
func published(to string) (map[string]record, error) {
	all := map[string]record{}
	path := filepath.Join(to, claimsData)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not what this command has written: %w: move it, or name another folder", path,
			err)
	}
	return all, nil
}

// put writes a page that begins with head, unless another page has its name.
func put(page, head, text string) error {
	if was, err := os.ReadFile(page); err == nil && !bytes.HasPrefix(was, []byte(head)) {
		return fmt.Errorf("%s is no page that this command has written: move it, or name another folder", page)
	}
	return replace(page, []byte(text))
}

// collect finds the results of experiments in the folders of dir, and links to the pages of dir.
func collect(dir string) (list []record, pages []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(dir, e.Name()))
		switch {
		case err != nil: // a link to nothing
		case info.IsDir():
			r, err := readRecord(filepath.Join(dir, e.Name()))
			if errors.Is(err, fs.ErrNotExist) {
				continue // a folder of something else
			}
			if err != nil {
				return nil, nil, err
			}
			list = append(list, r)
		case filepath.Ext(e.Name()) == ".md" && e.Name() != readmeName:
			page, err := pageLink(dir, e.Name())
			if err != nil {
				return nil, nil, err
			}
			pages = append(pages, page)
		}
	}
	if len(list) == 0 {
		return nil, nil, fmt.Errorf(
			"%s has no folder with results of an experiment: run fabricd sweep with --out %s/NAME first", dir, dir)
	}
	sortRecords(list)
	return list, pages, nil
}

func sortRecords(list []record) {
	slices.SortFunc(list, func(a, b record) int { return strings.Compare(natural(a.folder), natural(b.folder)) })
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
		return r, fmt.Errorf("%s is not what fabricd sweep writes: %w: repeat the sweep into that folder, or remove the file",
			path, err)
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
