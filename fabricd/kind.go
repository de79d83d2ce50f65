package main

import (
	"fmt"
	"os"

	"github.com/weft-fabric/weft/fabricd/document"
)

// Scenarios and experiments are both YAML files below scenarios/. Only one kind has each of these fields.
const (
	ofScenarios   = "expect"
	ofExperiments = "axes"
)

// wrongKind is the error of reading a file, or says that the file is of the other kind: that tells more than every field that
// one kind has and the other has not.
func wrongKind(path string, err error, has, command string) error {
	if err == nil {
		return nil
	}
	if _, fields, broken := document.Read[map[string]any](path); broken == nil {
		if _, ok := fields[has]; ok {
			return fmt.Errorf("%s has %s: that is for %s %s", path, has, command, path)
		}
	}
	return err
}

// noFolder refuses the name of a folder where one file is meant.
func noFolder(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder: name one experiment file in it, as scenarios/papers/fattree/fig9.yaml", path)
	}
	return nil
}
