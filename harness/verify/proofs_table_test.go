package verify_test

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/harness/verify"
)

// proofTable is docs/results/proofs.md: a section for each claim, and a row for the functions of
// which the same was found on one fabric. What is run now replaces what is there; the rest stays as
// it was seen, with its day; and what nobody has run to its end says so.
type proofTable struct {
	path string
	day  string              // of what is run now
	rows map[string][]string // what was found, by claim and command
}

// The cells of a row: fabric, what is dead and functions, then what was found.
const (
	namingCells = 3
	foundCells  = 7
	holds       = 2 // of what was found: true or false where the claim was run to its end
)

const (
	notRun   = "not run"
	notEnded = "not ended"
)

func readProofTable(path, day string) (*proofTable, error) {
	p := &proofTable{path: path, day: day, rows: map[string][]string{}}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	about := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			about = heading
		}
		cells := strings.Split(strings.Trim(line, "|"), " |")
		for i := range cells {
			cells[i] = strings.Trim(cells[i], " `")
		}
		if len(cells) != namingCells+foundCells || slices.Contains([]string{notRun, "holds"}, cells[namingCells+holds]) {
			continue
		}
		for routing := range strings.SplitSeq(cells[2], ", ") {
			p.rows[rowName(about, commandOf(cells[0], routing, cells[1]))] = cells[namingCells:]
		}
	}
	return p, nil
}

func rowName(about, command string) string { return about + "|" + command }

// found notes the result of a claim. One that was stopped replaces none that was run to its end.
func (p *proofTable) found(about, command string, r *verify.Result) {
	name := rowName(about, command)
	if r.Interrupted {
		if was, ok := p.rows[name]; ok && was[holds] != notEnded {
			return
		}
		p.rows[name] = []string{fmt.Sprint(r.FaultSets), fmt.Sprint(r.Explored), notEnded, "", "", "", p.day}
		return
	}
	numbers, cdg := "", "acyclic"
	if e := r.Extended; e != nil && r.CDGAcyclic {
		cdg = "extended acyclic"
	}
	if r.Numbering != nil {
		numbers = map[bool]string{true: "rise", false: "fall"}[*r.Numbering]
	}
	if !r.CDGAcyclic {
		cdg = fmt.Sprintf("cyclic in %d, stuck in %d", r.CyclicSets, r.Deadlocks)
	}
	sets, explored, holds := fmt.Sprint(r.FaultSets), fmt.Sprint(r.Explored), fmt.Sprint(r.Pass)
	if r.Method == verify.Lazy {
		sets, explored = cmp.Or(r.About, sets), "at once"
	}
	if r.Released {
		cdg = "cyclic, a way up is free"
	}
	p.rows[name] = []string{sets, explored, holds, fmt.Sprint(r.MaxHops), numbers, cdg, p.day}
}

const proofsHead = `# Claims about routing, checked

Written by ` + "`make proofs`" +
	`, not by hand. Each section is a claim of the papers, or that one does not hold. A row is
what this command found for each of its routing functions, on the day in the last column:

    fabricd verify --topology FABRIC --routing FUNCTION DEAD

*at once*: all sets were explored at once. *a way up is free*: the dependencies of all sets together have a cycle,
and whoever turns has a way up with nothing dead. *not ended*: it was stopped after so many fault sets, in which it
found nothing wrong. *not run*: it takes minutes to hours, and no run to its end is on record here;
[proofs.md](../explanation/proofs.md) says what has been seen.
`

const proofsColumns = `
| fabric | dead | functions | fault sets | explored | holds | most hops | channel numbers | CDG | seen |
|---|---|---|---|---|---|---|---|---|---|
`

// write writes all rows, in the order of the claims. It is written after each claim, so that hours
// of them can be stopped at any time.
func (p *proofTable) write(list []claim) error {
	var b strings.Builder
	b.WriteString(proofsHead)
	written := map[string]bool{}
	for _, c := range list {
		if written[c.about] {
			continue
		}
		written[c.about] = true
		fmt.Fprintf(&b, "\n## %s\n%s", c.about, proofsColumns)
		for _, same := range list {
			if same.about == c.about {
				p.rowsOf(&b, same)
			}
		}
	}
	return safefile.Write(p.path, []byte(b.String()))
}

// rowsOf writes a row for all functions of which the same was found, where the first of them stands.
func (p *proofTable) rowsOf(b *strings.Builder, c claim) {
	var order []string
	functions := map[string][]string{}
	for _, routing := range c.routing {
		cells, ok := p.rows[rowName(c.about, c.command(routing))]
		if !ok {
			cells = []string{"", "", notRun, "", "", "", ""}
		}
		found := strings.Join(cells, " | ")
		if functions[found] == nil {
			order = append(order, found)
		}
		functions[found] = append(functions[found], routing)
	}
	for _, found := range order {
		fmt.Fprintf(b, "| %s | `%s` | %s | %s |\n", c.topology, c.dead(), strings.Join(functions[found], ", "), found)
	}
}

func TestTheTableOfProofsKeepsWhatIsNotRunAnew(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "p.md")
	list := []claim{{
		about: "a, b; c", routing: []string{"x", "y", "z", "w"}, topology: "ring:3", kind: verify.Links,
		most: 1,
	}}
	day := func(day string, fill func(p *proofTable)) string {
		p, err := readProofTable(path, day)
		require.NoError(t, err)
		fill(p)
		require.NoError(t, p.write(list))
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		_, rows, _ := strings.Cut(string(data), proofsColumns)
		return rows
	}
	whole := &verify.Result{FaultSets: 17, Explored: 3, Pass: true, MaxHops: 7, CDGAcyclic: true, Numbering: new(true)}
	stopped := &verify.Result{FaultSets: 9, Explored: 9, Interrupted: true}
	text := day("monday", func(p *proofTable) {
		p.found("a, b; c", list[0].command("x"), whole)
		p.found("a, b; c", list[0].command("w"), whole)
		p.found("a, b; c", list[0].command("y"), stopped)
	})
	const on = "| ring:3 | `--kind link --faults 1` | "
	row := on + "x, w | 17 | 3 | true | 7 | rise | acyclic | monday |\n"
	assert.Equal(t, row+on+"y | 9 | 9 | not ended |  |  |  | monday |\n"+on+"z |  |  | not run |  |  |  |  |\n", text)
	text = day("tuesday", func(p *proofTable) {
		p.found("a, b; c", list[0].command("x"), stopped)
		p.found("a, b; c", list[0].command("z"), &verify.Result{FaultSets: 2, Explored: 2, CyclicSets: 2, Deadlocks: 1})
	})
	assert.Equal(t, row+on+"y | 9 | 9 | not ended |  |  |  | monday |\n"+
		on+"z | 2 | 2 | false | 0 |  | cyclic in 2, stuck in 1 | tuesday |\n", text,
		"what was run to its end is not replaced by what was not")
	p, err := readProofTable(path, "")
	require.NoError(t, err)
	assert.Len(t, p.rows, 4, "heads of columns are no row")
	text = day("wednesday", func(p *proofTable) { p.found("a, b; c", list[0].command("y"), whole) })
	assert.Contains(t, text, on+"y | 17 | 3 | true | 7 | rise | acyclic | wednesday |\n")
	assert.Contains(t, text, row)
}
