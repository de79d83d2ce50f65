package attack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// row is a line of the table in docs/reference/security.md.
type row struct {
	class    string
	attempts int
	once     bool // attempts are those of one run, and others differ
	outcome  string
	command  string // go test PACKAGE -run PATTERN, after variables that it sets
}

// inOneRun marks attempts that differ from run to run.
const inOneRun = " in one run"

func cell(attempts int, once bool) string {
	if once {
		return fmt.Sprint(attempts, inOneRun)
	}
	return fmt.Sprint(attempts)
}

func (r row) String() string {
	return fmt.Sprintf("| %s | %s | %s | `%s` |\n", r.class, cell(r.attempts, r.once), r.outcome, r.command)
}

// parse reads a line of docs/reference/security.md; ok is false when it is no row of the table.
func parse(line string) (r row, ok bool) {
	cells := strings.Split(strings.TrimSpace(line), " | ")
	if len(cells) < 4 {
		return row{}, false
	}
	command := strings.Join(cells[3:], " | ")
	if !strings.Contains(command, "go test ") || !strings.HasPrefix(command, "`") || !strings.HasSuffix(command, "` |") {
		return row{}, false
	}
	number, once := strings.CutSuffix(cells[1], inOneRun)
	attempts, err := strconv.Atoi(number)
	return row{strings.TrimPrefix(cells[0], "| "), attempts, once, cells[2], strings.Trim(command, "` |")}, err == nil
}

// table is the page that has the table, and where it is.
func table(t testing.TB) (page, text string) {
	t.Helper()
	page = filepath.Join(root(t), "docs", "reference", "security.md")
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return page, string(data)
}

// counted is a line of countsFile.
type counted struct {
	Class    string
	Attempts int
	Once     bool
}

func keep(t testing.TB, path string, c counted) {
	t.Helper()
	line, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = f.Write(append(line, '\n')); err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}
