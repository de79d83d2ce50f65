package scenario

// minimise returns a subset of items, in their order, that fails and that is 1-minimal: without any
// single one of its items it does not. fails must hold for items, about which it is not asked;
// about a subset it may be asked more than once. That is delta debugging: ever smaller parts are
// tried alone and left out, as ddmin does (Zeller and Hildebrandt, "Simplifying and isolating
// failure-inducing input", 2002). With a failure that is not the same each time what holds is what
// fails said.
//
// When stop says so it returns the smallest that has failed so far.
func minimise[T any](items []T, fails func([]T) bool, stop func() bool) []T {
	if len(items) > 0 && fails(nil) {
		return nil
	}
	for parts := 2; len(items) >= 2; {
		smaller, alone := reduce(items, parts, fails, stop)
		switch {
		case stop():
			if smaller != nil {
				items = smaller
			}
			return items
		case smaller != nil && alone:
			items, parts = smaller, 2
		case smaller != nil:
			items, parts = smaller, max(parts-1, 2)
		case parts >= len(items):
			return items
		default:
			parts = 2 * parts
		}
		parts = min(parts, len(items))
	}
	return items
}

// reduce tries each of so many parts of items alone, then all items without each, and returns the
// first that fails, nil for none.
func reduce[T any](items []T, parts int, fails func([]T) bool, stop func() bool) (smaller []T, alone bool) {
	cut := func(i int) int { return i * len(items) / parts }
	for i := range parts {
		if stop() {
			return nil, false
		}
		if part := items[cut(i):cut(i+1)]; fails(part) {
			return part, true
		}
	}
	if parts == 2 {
		return nil, false // without one half is the other half
	}
	for i := range parts {
		if stop() {
			return nil, false
		}
		rest := make([]T, 0, len(items))
		rest = append(append(rest, items[:cut(i)]...), items[cut(i+1):]...)
		if fails(rest) {
			return rest, false
		}
	}
	return nil, false
}
