package command

import (
	"fmt"
	"os"

	"github.com/weft-fabric/weft/fabricd/document"
)

// kind is a kind of YAML file below scenarios/, with a field that only it has.
type kind struct{ name, field, command string }

var (
	AScenario    = kind{"a scenario", "expect", "fabricd run"}
	AnExperiment = kind{"an experiment", "axes", "fabricd sweep"}
)

// Unless is the error of reading a file as of another kind; or says that it is of kind k, which
// tells more than a list of all fields that one has and the other has not.
func (k kind) Unless(path string, err error) error {
	if err == nil {
		return nil
	}
	if _, fields, broken := document.Read[map[string]any](path); broken == nil {
		if _, ok := fields[k.field]; ok {
			return fmt.Errorf("%s is %s, for it has %s: use %s %s", path, k.name, k.field, k.command, path)
		}
	}
	return err
}

// NoFolder refuses the name of a folder where one file is meant.
func NoFolder(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder: name one experiment file in it, as scenarios/papers/fattree/fig9.yaml", path)
	}
	return nil
}
