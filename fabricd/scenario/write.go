package scenario

import (
	"fmt"

	"github.com/goccy/go-yaml"

	"github.com/weft-fabric/weft/fabricd/document"
)

// ReadFile reads a scenario file as it is written. Errors are those of [Read].
func ReadFile(path string) (File, error) {
	doc, f, err := document.Read[File](path)
	if err == nil {
		_, err = parse(doc, f)
	}
	if err != nil {
		return File{}, err
	}
	return f, nil
}

// Write prints f as YAML that [Load] reads again.
func Write(f File) ([]byte, error) {
	data, err := yaml.MarshalWithOptions(f, yaml.UseLiteralStyleIfMultiline(true), yaml.IndentSequence(true))
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", f.Name, err)
	}
	return data, nil
}
