package verify

import (
	"cmp"
	"errors"
	"fmt"
)

// doubts says of each claim of the firmware that was found wrong why; empty: it was not. What is
// not believed any more is explored as if it had never been claimed.
type doubts struct{ symmetric, destinationBased string }

// falseClaim is the error that a firmware is not what it says.
type falseClaim struct {
	of  claim
	err error
}

type claim uint8

const (
	symmetric claim = iota
	destinationBased
)

func (c *falseClaim) Error() string { return c.err.Error() }

// believe takes the firmware at its word, but for what is doubted.
func (r *run) believe() {
	r.symmetry, r.check = nil, nil
	if apart := r.doubts.destinationBased != ""; r.model.apart != apart {
		r.model.apart = apart
		r.model.index()
	}
	for _, fw := range r.firmwares() {
		if !fw.Symmetric || r.NoSymmetry || r.knowing() || r.doubts.symmetric != "" {
			return
		}
	}
	if r.symmetry = newSymmetry(r.Graph, &r.Sets); r.symmetry == nil {
		return
	}
	r.check = newSymmetryCheck(r.model, r.symmetry, r.questions)
	if err := r.check.begin(); err != nil {
		r.doubt(&falseClaim{of: symmetric, err: err})
	}
}

// doubt has the firmware believed less from now on, and the result say why.
func (r *run) doubt(c *falseClaim) {
	name := cmp.Or(r.Name, r.Firmware.Name)
	if r.Mixed != nil {
		name = fmt.Sprintf("the mixture of %s and %s", name, r.Mixed.name())
	}
	switch {
	case c.of == destinationBased:
		r.doubts.destinationBased = fmt.Sprintf("%s says that only the destination matters, which is not so, so every "+
			"pair is explored by itself: %v", name, c.err)
	case errors.Is(c.err, errQuestions):
		r.doubts.symmetric = fmt.Sprintf("%s says that it is symmetric; to check that takes more than %d decisions, so "+
			"every set is explored",
			name, cmp.Or(r.questions, maxQuestions))
	default:
		r.doubts.symmetric = fmt.Sprintf("%s says that it is symmetric, and is not, so every set is explored: %v", name,
			c.err)
	}
	r.believe()
}

// restart forgets everything that was found.
func (r *run) restart() {
	r.result = r.empty()
	clear(r.book.page.Done)
	clear(r.book.earlier)
	r.done = 0
}
