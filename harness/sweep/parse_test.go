package sweep

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/document/schematest"
	"github.com/weft-fabric/weft/harness/testenv"
)

const schemaFile = "../../docs/schema/experiment.schema.json"

func files(t *testing.T, pattern string) []string {
	t.Helper()
	list, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, list, pattern)
	return list
}

// Each testdata/bad/*.yaml has beside it what is said about it.
func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	t.Parallel()
	for _, path := range files(t, "testdata/bad/*.yaml") {
		_, err := Read(t.Context(), path)
		require.Error(t, err, path)
		got := strings.ReplaceAll(err.Error(), path, filepath.Base(path)) + "\n"
		golden := strings.TrimSuffix(path, ".yaml") + ".txt"
		if testenv.Update() {
			require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.Equal(t, string(want), got, path)
	}
}

func TestAFileThatIsNotThereIsNamed(t *testing.T) {
	t.Parallel()
	_, err := Read(t.Context(), "testdata/none.yaml")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "testdata/none.yaml")
}

// shipped are the experiments that come with Weft.
func shipped(t *testing.T) []string {
	t.Helper()
	return files(t, "../../scenarios/papers/*/*.yaml")
}

func TestShippedExperimentsAreValidAndFitTheSchema(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	s := schema(t)
	for _, path := range append(shipped(t), "testdata/small.yaml") {
		e, err := Read(t.Context(), path)
		require.NoError(t, err)
		assert.NotEmpty(t, e.Plots, path)
		assert.NotEmpty(t, e.Checks, path)
		assert.NoError(t, schematest.Validate(t, s, path), path)
		_, full, err := e.Size(Options{})
		require.NoError(t, err)
		_, quick, err := e.Size(Options{Quick: true})
		require.NoError(t, err)
		assert.Less(t, quick, full, path)
	}
}

func TestTheSchemaRefusesWhatHasTheWrongShape(t *testing.T) {
	t.Parallel()
	s := schema(t)
	for _, name := range []string{
		"unknown-field", "unknown-setting", "missing-fields", "bad-samples", "bad-exclude",
		"impossible-buffers",
	} {
		assert.Error(t, schematest.Validate(t, s, "testdata/bad/"+name+".yaml"), name)
	}
}

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := Schema()
	return schematest.Compile(t, text, err)
}

func TestThePublishedSchemaIsTheOneOfTheCode(t *testing.T) {
	t.Parallel()
	want, err := Schema()
	require.NoError(t, err)
	schematest.Published(t, schemaFile, testenv.Update(), want)
}

// Any bytes give an experiment or an error that names the file; never a panic.
func FuzzLoadFile(f *testing.F) {
	for _, pattern := range []string{"testdata/small.yaml", "testdata/bad/*.yaml"} {
		list, _ := filepath.Glob(pattern)
		for _, path := range list {
			data, err := os.ReadFile(path)
			require.NoError(f, err)
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.Contains(data, []byte("tree:")) || bytes.Contains(data, []byte("irregular")) {
			t.Skip("a large topology takes its time") // bounded by package topology
		}
		if _, err := loadFile("f.yaml", data); err != nil {
			assert.True(t, strings.HasPrefix(err.Error(), "f.yaml"), err)
		}
	})
}

func TestEvenlySpacedValuesAreWrittenAsPeopleWould(t *testing.T) {
	t.Parallel()
	p := &parser{}
	from, to, step := 0.1, 0.7, 0.1
	assert.Equal(t, []Value{"0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7"},
		p.between("$", Axis{From: &from, To: &to, Step: &step}))
}

// loadFile is Read from memory; path is used in errors.
func loadFile(path string, data []byte) (*Experiment, error) {
	doc, f, err := document.Load[File](path, data)
	if err != nil {
		return nil, err
	}
	return parse(context.Background(), path, doc, f)
}
