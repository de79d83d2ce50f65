package weft_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	mdLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	mdHeading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	mdCode    = regexp.MustCompile("(?s)```.*?```")
	notSlug   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// pages is the text of each Markdown file at the top and in docs, by its path from the top.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != "." && name != "docs" && !strings.HasPrefix(name, "docs/"):
			return fs.SkipDir
		case path.Ext(name) != ".md":
			return nil
		}
		text, err := os.ReadFile(name)
		found[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// anchors are the names of the headings of a page, as links give them.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for _, h := range mdHeading.FindAllStringSubmatch(mdCode.ReplaceAllString(text, ""), -1) {
		title := mdLink.ReplaceAllString(strings.ToLower(h[1]), "")
		names[strings.ReplaceAll(notSlug.ReplaceAllString(title, ""), " ", "-")] = true
	}
	return names
}

func TestEveryLinkOfTheDocumentationLeadsSomewhere(t *testing.T) {
	t.Parallel()
	all := pages(t)
	links := 0
	for page, text := range all {
		for _, m := range mdLink.FindAllStringSubmatch(mdCode.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			links++
			file, anchor, _ := strings.Cut(m[1], "#")
			to := page
			if file != "" {
				to = path.Join(path.Dir(page), file)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s: there is no %s", page, m[1], to)
			} else if anchor != "" && path.Ext(to) == ".md" && !anchors(all[to])[anchor] {
				t.Errorf("%s links to %s: %s has no heading of that name", page, m[1], to)
			}
		}
	}
	if links == 0 {
		t.Error("no page has a link")
	}
}

func TestTheCodeNamesPagesThatAreThere(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(`\bdocs/[a-z0-9/-]+\.md\b`)
	for _, f := range sourceTree(t) {
		for i, line := range strings.Split(string(f.text), "\n") {
			for _, page := range named.FindAllString(line, -1) {
				if _, err := os.Stat(page); err != nil {
					t.Errorf("%s:%d names %s: there is no such page", f.path, i+1, page)
				}
			}
		}
	}
}

// The repository holds a summary of the results, and the runs of what takes long. make experiments
// writes the rest.
func TestResultsAreASummary(t *testing.T) {
	t.Parallel()
	const most, mostRuns = 1_500_000, 8_000_000 // bytes
	claims, err := os.ReadFile("docs/results/claims.json")
	if err != nil {
		t.Fatal(err)
	}
	runs := int64(0)
	kept, err := os.ReadDir("docs/results/runs")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range kept {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		runs += info.Size()
		name, ok := strings.CutSuffix(f.Name(), ".journal.gz")
		if !ok || !strings.Contains(string(claims), `"`+name+`": {`) {
			t.Errorf("docs/results/runs/%s is of no experiment that claims.json has", f.Name())
		}
	}
	if runs > mostRuns {
		t.Errorf("docs/results/runs has %d bytes, and may have %d", runs, mostRuns)
	}
	var docs strings.Builder
	for _, text := range pages(t) {
		docs.WriteString(text)
	}
	files, err := os.ReadDir("docs/results")
	if err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	for _, f := range files {
		kind := path.Ext(f.Name())
		if kind == ".png" {
			continue // which git ignores
		}
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if f.Name() == "runs" {
			continue
		}
		size += info.Size()
		if f.IsDir() || kind != ".md" && kind != ".svg" && kind != ".csv" &&
			f.Name() != "claims.json" { // what claims.md is written of
			t.Errorf("docs/results/%s is no page, figure or table: let make experiments write it into results", f.Name())
		}
		if kind == ".svg" && !strings.Contains(docs.String(), f.Name()+")") {
			t.Errorf("docs/results/%s is a figure that no page shows", f.Name())
		}
	}
	if size > most {
		t.Errorf("docs/results has %d bytes, and %d at most are a summary", size, most)
	}
}
