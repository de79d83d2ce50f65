// Package report writes what came of a scenario as one HTML file that needs nothing else to be
// read, no script and no other file: the verdict, a map of the fabric at each fault, charts with
// the faults marked on them, the reports of the faults, the ledger and the events. Beside it stands
// report.json, what fabricd run --json prints.
//
//	rec := report.NewRecorder()
//	result, err := scenario.Runner{Watch: rec, ...}.Run(ctx, s)
//	path, writeErr := rec.Write(dir, report.About{Scenario: s, ...})
package report
