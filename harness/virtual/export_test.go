package virtual

// ReadAhead has the engine read ahead, and ask for huge pages, however few nodes it has.
func (e *Engine) ReadAhead() { e.large = 0 }
