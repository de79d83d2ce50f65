package world

// StandStillAfter has so many events at one time count as too many, sooner than a test has patience
// for.
func (w *World) StandStillAfter(n int) { w.mostAtOnce = n }
