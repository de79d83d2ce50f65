package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
)

type Common struct {
	Note string `yaml:"note,omitempty" jsonschema_description:"for people"`
}

type entry struct {
	A     string        `yaml:"a"`
	APort *int          `yaml:"a_port,omitempty"`
	Count uint8         `yaml:"count,omitempty"`
	Share float64       `yaml:"share,omitempty"`
	Wait  time.Duration `yaml:"wait,omitempty"`
}

type sample struct {
	Common  `yaml:",inline"`
	Name    string           `yaml:"name" was:"title"`
	On      bool             `yaml:"on,omitempty"`
	Entries []entry          `yaml:"entries,omitempty"`
	ByName  map[string]entry `yaml:"by_name,omitempty"`
	Any     any              `yaml:"any,omitempty"`
}

const good = `# a file
name: x
note: why
on: true
entries:
  - a: s1
    a_port: 3
  - {a: "1.10", count: 255, share: 0.5, wait: 10ms}
by_name:
  s0.00: {a: b}
`

func TestLoad(t *testing.T) {
	d, v, err := Load[sample]("f.yaml", []byte(good))
	require.NoError(t, err)
	three := 3
	assert.Equal(t, sample{
		Common: Common{Note: "why"}, Name: "x", On: true,
		Entries: []entry{{A: "s1", APort: &three}, {A: "1.10", Count: 255, Share: 0.5, Wait: 10 * time.Millisecond}},
		ByName:  map[string]entry{"s0.00": {A: "b"}},
	}, v)
	for path, want := range map[string]string{
		"$":                    "f.yaml:2:1",
		"$.name":               "f.yaml:2:7",
		"$.entries[0].a":       "f.yaml:6:8",
		"$.entries[0].b":       "f.yaml:6:5", // missing: the entry that lacks it
		"$.entries[0].a_port":  "f.yaml:7:13",
		"$.entries[1].count":   "f.yaml:8:24",
		"$.entries[7]":         "f.yaml:6:3",
		"$.by_name['s0.00'].a": "f.yaml:10:14",
		"$..":                  "f.yaml:2:1",
	} {
		assert.Equal(t, want, d.At(path).String(), path)
	}
}

func TestErrorf(t *testing.T) {
	d, _, err := Load[sample]("f.yaml", []byte(good))
	require.NoError(t, err)
	err = d.Errorf("$.entries[0].a", "link to %s: %w", "s1", fs.ErrNotExist)
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.EqualError(t, err, "f.yaml:6:8: link to s1: file does not exist")
	var e *Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "    6 |   - a: s1\n               ^", e.Source())
}

func TestLoadErrors(t *testing.T) {
	for in, want := range map[string]string{
		"":                                       "f:1:1: nothing here, expected a YAML document",
		"# only a comment":                       "f:1:1: nothing here, expected a YAML document",
		"nmae: x":                                `f:1:1: unknown field "nmae": did you mean "name"? known: any, by_name, entries, name, note, on`,
		"name: x\nentries:\n- a: s\n  a_prt: 3":  `f:4:3: unknown field "a_prt": did you mean "a_port"? known: a, a_port, count, share, wait`,
		"name: x\nby_name: {x: {q: 1}}":          `f:2:15: unknown field "q": did you mean "a"? known: a, a_port, count, share, wait`,
		"name: 1.10":                             "f:1:7: found 1.10, expected a text; put it in quotes",
		"name: true":                             "f:1:7: found true, expected a text; put it in quotes",
		"name:":                                  "f:1:7: found nothing, expected a text",
		"name: [a]":                              "f:1:7: found a list, expected a text",
		"name: x\non: maybe":                     `f:2:5: found the text "maybe", expected true or false`,
		"name: x\nentries: {a: 1}":               "f:2:10: found a mapping, expected a list",
		"name: x\nentries: [1]":                  "f:2:11: found 1, expected a mapping",
		"name: x\nentries: [{a: s, count: 256}]": "f:2:25: found 256, expected an integer from 0 to 255",
		"name: x\nentries: [{a: s, count: -1}]":  "f:2:25: found -1, expected an integer from 0 to 255",
		"name: x\nentries: [{a: s, a_port: x}]":  `f:2:26: found the text "x", expected an integer`,
		"name: x\nentries: [{a: s, a_port: 99999999999999999999}]": `f:2:26: 99999999999999999999 is out of range, expected an integer`,
		"just text":             `f:1:1: found the text "just text", expected a mapping`,
		"name: x\nname: y":      `f:2:1: key "name" for the second time, first in line 1: leave one of them out`,
		"name: x\n---\nname: y": "f:3:1: a second document, expected one document per file",
		"name: &a x":            "f:1:7: an anchor (&) is not supported here, expected plain keys and values",
		"name: *a":              "f:1:7: an alias (*) is not supported here, expected plain keys and values",
		"name: !!str x":         "f:1:7: a tag (!) is not supported here, expected plain keys and values",
		"on: maybe\nname: 3": `f:1:5: found the text "maybe", expected true or false` +
			"\nf:2:7: found 3, expected a text; put it in quotes",
	} {
		_, _, err := Load[sample]("f", []byte(in))
		assert.EqualError(t, err, want, "%q", in)
	}
}

func TestAFieldMayGoByItsOldName(t *testing.T) {
	d, v, err := Load[sample]("f", []byte("on: true\ntitle: x\n"))
	require.NoError(t, err)
	assert.Equal(t, sample{Name: "x", On: true}, v)
	assert.Equal(t, []string{"f:2:1: title is now name; 0.2.0 removes the old name"}, d.Warnings())
	assert.Equal(t, "f:2:8", d.At("$.name").String())
	d, _, err = Load[sample]("f", []byte("{name: x}"))
	require.NoError(t, err)
	assert.Empty(t, d.Warnings())
	for in, want := range map[string]string{
		"title: 1.10":       "f:1:8: found 1.10, expected a text; put it in quotes",
		"title: x\nname: y": `f:2:1: field "name" is there by its old name too: leave one of them out`,
		"name: x\ntitle: y": `f:2:1: field "name" is there by its old name too: leave one of them out`,
	} {
		_, _, err := Load[sample]("f", []byte(in))
		assert.EqualError(t, err, want, "%q", in)
	}
}

// However many mistakes there are, a reader gets a screenful.
func TestErrorsAreCapped(t *testing.T) {
	var errs Errors
	for i := range 2*maxErrors + 1 {
		errs.Add(fmt.Errorf("mistake %d", i))
	}
	lines := strings.Split(errs.Err().Error(), "\n")
	assert.Len(t, lines, maxErrors+1)
	assert.Equal(t, "and 11 more", lines[maxErrors])
	assert.NoError(t, new(Errors).Err())
}

// Deep nesting would exhaust the stack of the parser, or its patience.
func TestNestingIsBounded(t *testing.T) {
	t.Parallel()
	n := testenv.N(1<<18, 1<<14)
	for _, unit := range []string{"[", "{", "- ", "a: ", "[- ", "{a: ", "[\n", "[a: [", "? ", "! ", "&a ", "- - -\n "} {
		_, _, err := Load[sample]("f", []byte(strings.Repeat(unit, n/len(unit))))
		assert.Error(t, err, unit)
	}
	var stairs strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&stairs, "%sa:\n", strings.Repeat(" ", i))
	}
	_, _, err := Load[sample]("f", []byte("any:\n "+strings.ReplaceAll(stairs.String(), "\n", "\n ")))
	assert.ErrorContains(t, err, "indented to column")
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	_, _, err := Read[sample](filepath.Join(dir, "none.yaml"))
	require.ErrorIs(t, err, fs.ErrNotExist)

	file := filepath.Join(dir, "f.yaml")
	require.NoError(t, os.WriteFile(file, []byte(good), 0o600))
	d, v, err := Read[sample](file)
	require.NoError(t, err)
	assert.Equal(t, "x", v.Name)
	assert.Equal(t, file, d.File())

	require.NoError(t, os.Truncate(file, MaxSize+1))
	_, _, err = Read[sample](file)
	require.ErrorIs(t, err, ErrTooLarge)
	_, _, err = Load[sample]("f", make([]byte, MaxSize+1))
	require.ErrorIs(t, err, ErrTooLarge)
}

func TestSchema(t *testing.T) {
	got, err := Schema(sample{}, "sample")
	require.NoError(t, err)
	again, err := Schema(sample{}, "sample")
	require.NoError(t, err)
	assert.Equal(t, string(got), string(again))
	var s map[string]any
	require.NoError(t, json.Unmarshal(got, &s))
	assert.Equal(t, SchemaAddress("sample"), s["$id"])
	assert.Equal(t, "Weft sample", s["title"])
	assert.Equal(t, []any{"name"}, s["required"])
	props := s["properties"].(map[string]any)
	assert.Equal(t, "for people", props["note"].(map[string]any)["description"])
	assert.NotContains(t, props, "Common")
	assert.Contains(t, string(got), `"type": "string"`)
}

// Any bytes give a value or an error that names the file; never a panic.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("name: x\nentries:\n- a_prt: 3\n"))
	f.Add([]byte("{\"name\": [1, {}, null]}"))
	f.Add([]byte("name: |\n  text\nany: >-\n  x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, _, err := Load[sample]("f.yaml", data)
		if err != nil {
			assert.True(t, strings.HasPrefix(err.Error(), "f.yaml"), err)
			var e *Error
			if errors.As(err, &e) {
				_ = e.Source()
			}
			return
		}
		_ = d.At("$.entries[0].a")
	})
}
