package weft_test

import (
	"go/ast"
	"os"
	"regexp"
	"testing"
)

// The reader's walk names functions that are where it says.
func TestTheReadersWalkNamesFunctionsThatAreThere(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/explanation/walk.md")
	if err != nil {
		t.Fatal(err)
	}
	functions := map[[2]string]bool{}
	for _, f := range sourceTree(t) {
		for _, d := range f.ast.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				functions[[2]string{f.path, d.Name.Name}] = true
			}
		}
	}
	rows := regexp.MustCompile("(?m)^\\| \\d+ \\| `([^`]+)` ((?:`\\w+`(?:, )?)+) \\|").FindAllStringSubmatch(string(text),
		-1)
	if len(rows) != 24 {
		t.Errorf("%d rows name functions, not 24", len(rows))
	}
	for _, row := range rows {
		for _, name := range regexp.MustCompile(`\w+`).FindAllString(row[2], -1) {
			if !functions[[2]string{row[1], name}] {
				t.Errorf("docs/explanation/walk.md: there is no function %s in %s", name, row[1])
			}
		}
	}
}
