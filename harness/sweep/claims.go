package sweep

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	texttable "github.com/weft-fabric/weft/fabricd/document/table"
)

// resultsText is what experiments have shown, by paper: behind the first words of a page. figure
// says where a figure is.
func resultsText(list []record, figure func(record, shown) string) string {
	var b strings.Builder
	b.WriteString(" docs/howto/sweep.md says how experiments are written, and how samples are spent.\n\n" +
		"A statement *holds*, or does *not hold*, where the interval of ours lies on one side of the bound, or where all " +
		"cases were counted. It is *open* where the interval reaches over the bound, and *not run* where no run counts. " +
		aboutIntervals + "\n")
	var papers []string
	by := map[string][]record{}
	for _, r := range list {
		p := r.paper()
		if len(by[p]) == 0 {
			papers = append(papers, p)
		}
		by[p] = append(by[p], r)
	}
	sums := texttable.New("paper", "statements", "hold", "do not hold", "open", "not run")
	var all counts
	for _, p := range papers {
		var n counts
		for _, r := range by[p] {
			n = n.and(r.counts())
		}
		all = all.and(n)
		sums.Row(append([]any{p, n.total()}, n.cells()...)...)
	}
	sums.Row(append([]any{"all", all.total()}, all.cells()...)...)
	_ = sums.Markdown(&b) // to memory
	for _, p := range papers {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n%s", p, experimentsTable(by[p]), statementsTable(by[p]))
		for _, r := range by[p] {
			if len(r.Figures) > 0 {
				fmt.Fprintf(&b, "\n![%s](%s)\n", r.Figures[0].Title, figure(r, r.Figures[0]))
			}
		}
	}
	return b.String()
}

// experimentsTable says how the results of a paper were made.
func experimentsTable(list []record) string {
	var b strings.Builder
	t := texttable.New("experiment", "what it measures", "command", "commit", "points", "samples of each", "runs",
		"left out of means", "hold", "do not hold", "open", "not run")
	for _, r := range list {
		t.Row(append([]any{
			r.folder, firstSentence(r.About), "`" + strings.TrimSpace(r.Command) + "`", r.madeBy(), r.Points,
			r.samples(), r.Runs, r.Excluded,
		}, r.counts().cells()...)...)
	}
	_ = t.Markdown(&b) // to memory
	return b.String()
}

// statementsTable is what a paper says, and what came of it.
func statementsTable(list []record) string {
	var b strings.Builder
	t := texttable.New("experiment", "where", "statement", "paper", "ours", "samples", "verdict")
	for _, r := range list {
		for _, f := range r.Findings {
			paper, where := cutRef(f.Ref)
			if paper != r.paper() {
				where = f.Ref
			}
			t.Row(r.folder, where, f.statement(), f.Paper, f.Ours, f.Samples, f.inWords())
		}
	}
	if t.Len() == 1 {
		return ""
	}
	_ = t.Markdown(&b) // to memory
	return b.String()
}

// statement is what is claimed.
func (f *Finding) statement() string {
	says := strings.TrimSpace(f.Says)
	if f.Must {
		says += " (claim of ours)"
	}
	return says
}

// inWords is the verdict, and why it is no better, where somebody has said so.
func (f *Finding) inWords() string {
	v := f.verdict()
	text := map[string]string{Holds: "holds", HoldsNot: "**does not hold**", Unsure: "open", NotRun: "not run"}[v]
	if f.Needs > 0 {
		text += fmt.Sprintf(", about %s samples would decide it", humanize.Comma(int64(f.Needs)))
	}
	if f.Why != "" && (v == HoldsNot || v == Unsure) {
		text += ": " + strings.Join(strings.Fields(f.Why), " ")
	}
	return text
}

// verdict is one of [Holds], [HoldsNot], [Unsure] and [NotRun].
func (f *Finding) verdict() string {
	if strings.HasSuffix(f.Holds, Unsure) {
		return Unsure
	}
	return f.Holds
}

// counts are how many statements have which verdict.
type counts struct{ hold, not, open, none int }

func (r record) counts() (n counts) {
	for _, f := range r.Findings {
		switch f.verdict() {
		case Holds:
			n.hold++
		case HoldsNot:
			n.not++
		case Unsure:
			n.open++
		default:
			n.none++
		}
	}
	return n
}

func (n counts) and(o counts) counts {
	return counts{n.hold + o.hold, n.not + o.not, n.open + o.open, n.none + o.none}
}

func (n counts) total() int { return n.hold + n.not + n.open + n.none }

func (n counts) cells() []any { return []any{n.hold, n.not, n.open, n.none} }

// madeBy is what made the runs.
func (r record) madeBy() string {
	text := cmp.Or(strings.Join(r.Versions, ", "), "none") + r.Again.text()
	for _, f := range r.Firmware {
		text += "; " + f
	}
	return text
}

// samples is how many samples the points have.
func (r record) samples() string {
	if r.Least > 0 {
		return fmt.Sprintf("%d to %d", r.Least, r.Samples)
	}
	return strconv.Itoa(r.Samples)
}

// paper is the one that most statements of an experiment are from.
func (r record) paper() string {
	of := map[string]int{}
	best := "Others"
	for _, f := range r.Findings {
		if paper, place := cutRef(f.Ref); place != "" {
			if of[paper]++; of[paper] > of[best] {
				best = paper
			}
		}
	}
	return best
}

// refPlace is where in a paper a statement stands: behind the first comma that one of these
// follows.
var refPlace = regexp.MustCompile(`(?i)^(.+?), ((?:sections?|figures?|tables?|lemma|theorem|footnote|ours)\b.*)$`)

// cutRef cuts a reference into the paper and the place in it. What names no place is all paper.
func cutRef(ref string) (paper, place string) {
	if m := refPlace.FindStringSubmatch(ref); m != nil {
		return m[1], m[2]
	}
	return ref, ""
}

var sentenceEnd = regexp.MustCompile(`[.:;]\s`)

// firstSentence is what stands before the first stop, colon or semicolon.
func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if at := sentenceEnd.FindStringIndex(text); at != nil {
		return text[:at[0]]
	}
	return strings.TrimSuffix(text, ".")
}
