package weft_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rawAddress is where a file is read over HTTP, in the repository that go.mod names.
func rawAddress(file string) string {
	return "https://raw.githubusercontent.com/" + strings.TrimPrefix(module, "github.com/") + "/main/" + file
}

// schemas is the file of each schema in docs/schema, by its address.
func schemas(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("docs/schema/*.schema.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("docs/schema has no schema (%v)", err)
	}
	found := map[string]string{}
	for _, name := range files {
		var s struct {
			ID string `json:"$id"`
		}
		read(t, name, &s)
		found[s.ID] = filepath.ToSlash(name)
	}
	return found
}

func read(t *testing.T, name string, v any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func TestSchemasAreReadWhereTheirIDsSay(t *testing.T) {
	t.Parallel()
	for id, name := range schemas(t) {
		if want := rawAddress(name); id != want {
			t.Errorf("%s has the $id %s: it is read at %s", name, id, want)
		}
	}
}

// deploy/schemastore.json is what the catalogue of SchemaStore would take.
func TestTheSchemaStoreEntriesAreOfOurSchemas(t *testing.T) {
	t.Parallel()
	var entries []struct {
		Name, Description, URL string
		FileMatch              []string
	}
	read(t, "deploy/schemastore.json", &entries)
	missing := schemas(t)
	for _, e := range entries {
		if missing[e.URL] == "" {
			t.Errorf("deploy/schemastore.json: %s is at %s, where there is no schema or another entry has it", e.Name, e.URL)
		}
		delete(missing, e.URL)
		if e.Description == "" || len(e.FileMatch) == 0 {
			t.Errorf("deploy/schemastore.json: %s has no description, or matches no file", e.Name)
		}
	}
	for _, name := range missing {
		t.Errorf("deploy/schemastore.json has no entry for %s", name)
	}
}

// A file for fabricd names its schema first, so that editors complete and check it. Those that
// testdata/bad holds are wrong from their first line on.
func TestEveryScenarioNamesItsSchema(t *testing.T) {
	t.Parallel()
	files := 0
	for _, top := range []string{"scenarios", "examples", "fabricd/scenario", "harness/sweep"} {
		err := filepath.WalkDir(top, func(name string, e fs.DirEntry, err error) error {
			name = filepath.ToSlash(name)
			switch {
			case err != nil:
				return err
			case e.IsDir() && (e.Name() == "bad" || strings.HasPrefix(e.Name(), ".")):
				return fs.SkipDir
			case e.IsDir() || path.Ext(name) != ".yaml" && path.Ext(name) != ".yml":
				return nil
			}
			files++
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			if why := withoutSchema(name, string(text), schemas(t)); why != "" {
				t.Errorf("%s: %s", name, why)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if files < 50 {
		t.Errorf("only %d files for fabricd are found", files)
	}
}

// withoutSchema says why an editor finds no schema of ours for a file, "" if it does.
func withoutSchema(name, text string, schemas map[string]string) string {
	line, _, _ := strings.Cut(text, "\n")
	at, ok := strings.CutPrefix(line, "# yaml-language-server: $schema=")
	switch {
	case !ok:
		return "begin it with the line # yaml-language-server: $schema=" + rawAddress("docs/schema/scenario.schema.json") +
			", or that of its kind"
	case schemas[at] != "":
		return ""
	}
	for _, file := range schemas {
		if path.Join(path.Dir(name), at) == file {
			return ""
		}
	}
	return "its first line names " + at + ", where there is no schema of docs/schema"
}

func TestScenariosWithoutASchemaAreFound(t *testing.T) {
	t.Parallel()
	known := map[string]string{"https://x/s.json": "docs/schema/s.json"}
	const line = "# yaml-language-server: $schema="
	var found []string
	for _, text := range []string{
		line + "https://x/s.json\n", line + "../docs/schema/s.json\nname: a\n",
		"name: a\n" + line + "../docs/schema/s.json\n", "", line + "docs/schema/s.json\n", line + "https://x/other.json\n",
	} {
		if withoutSchema("scenarios/a.yaml", text, known) != "" {
			found = append(found, text)
		}
	}
	want := []string{
		"name: a\n" + line + "../docs/schema/s.json\n", "", line + "docs/schema/s.json\n", line + "https://x/other.json\n",
	}
	if !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
}
