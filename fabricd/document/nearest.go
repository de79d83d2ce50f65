package document

import "github.com/weft-fabric/weft/fabricd/document/nearest"

// Unknown is [nearest.Unknown]: the error for a word that is not among the candidates, with the
// nearest that is.
func Unknown(kind, word string, candidates []string) error {
	return nearest.Unknown(kind, word, candidates)
}
