//go:build !linux

package virtual

func (e *Engine) askForHugePages() {}
