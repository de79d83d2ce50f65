package scenario

import (
	"github.com/weft-fabric/weft/fabricd/scenario/format"
)

import "github.com/weft-fabric/weft/fabricd/document"

// ReadFile reads a scenario file as it is written. Errors are those of [Read].
func ReadFile(path string) (format.File, error) {
	doc, f, err := document.Read[format.File](path)
	if err == nil {
		_, err = parse(doc, f)
	}
	if err != nil {
		return format.File{}, err
	}
	return f, nil
}
