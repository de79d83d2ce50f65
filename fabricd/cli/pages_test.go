package cli_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// Pages of the documentation are run as a reader runs them: every block in order, in a folder with
// the repository's files. The words after the fence of a block say what to do with it:
//
//	sh            commands, all of which succeed
//	sh fails      commands, one of which does not
//	sh &          a program in a terminal of its own, which goes on until Ctrl-C or the page's end
//	sh not-run    commands that need what a test does not have; commands of fabricd must parse
//	text          what the block before prints. A line ... is any lines, ... in a line any text
//	text varies   the same, with other numbers, other units of time, and another count of spaces
//	text ^C       what the latest program prints in the end, after Ctrl-C; numbers vary
//	yaml FILE     a file to write, and so with go, c, json and csv
//
// Other blocks are shown and not run.
var (
	fence    = regexp.MustCompile("^```([a-z]*) ?(.*)$")
	number   = regexp.MustCompile(`\d+(?:(?:\\\.|,)\d+)*`)
	spaces   = regexp.MustCompile(` +`)
	duration = regexp.MustCompile(regexp.QuoteMeta(someNumber) + `(?: \+)?(?:us|ms|s)\b`)
)

// front is the page that a reader sees first.
const front = "../../README.md"

// someNumber is the pattern of a number in an output.
const someNumber = `\d[\d.,]*`

// patience is for commands that compile all of Weft.
const patience = 10 * time.Minute

// block is a fenced block of a page.
type block struct {
	kind, arg string
	line      int // of its fence in the page
	text      string
}

// blocksOf are the blocks of a page.
func blocksOf(page string) []block {
	var all []block
	var open *block
	for n, line := range strings.Split(page, "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case open != nil && line == "```":
			all, open = append(all, *open), nil
		case open != nil:
			open.text += line + "\n"
		case m != nil:
			open = &block{kind: m[1], arg: m[2], line: n + 1}
		}
	}
	return all
}

// shown is the pattern of the beginning of an output that a page shows.
func shown(text string, varies bool) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`^`)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "..." {
			b.WriteString(`(?:[^\n]*\n)*?`)
			continue
		}
		line = regexp.QuoteMeta(line)
		if varies {
			line = spaces.ReplaceAllLiteralString(number.ReplaceAllLiteralString(line, someNumber), ` +`)
			line = duration.ReplaceAllLiteralString(line, someNumber+` *(?:us|ms|s)`)
		}
		b.WriteString(` *` + strings.ReplaceAll(line, `\.\.\.`, `[^\n]*`) + ` *\n`)
	}
	return regexp.MustCompile(b.String())
}

// reader reads a page and does what it says.
type reader struct {
	*testing.T
	dir      string
	env      []string
	shell    *rig.Process
	stdin    io.WriteCloser
	programs []*rig.Process // that go on, the latest last
	ran      int            // commands and programs
}

// read runs a page.
func read(t *testing.T, page string) {
	path := []string{builtCommands(t), t.TempDir(), os.Getenv("PATH")}
	server, err := natstest.Program(natstest.Newest)
	require.NoError(t, err)
	require.NoError(t, os.Symlink(server, filepath.Join(path[1], "nats-server")))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	r := &reader{T: t, dir: filepath.Join(t.TempDir(), "weft"), env: append(os.Environ(),
		"PATH="+strings.Join(path, string(filepath.ListSeparator)),
		"WEFT_RUN_DIR="+filepath.Join(t.TempDir(), "run"), "XDG_STATE_HOME="+t.TempDir(),
		"GOSUMDB=off")} // some machines reach a module proxy and no checksum server
	if !testenv.Soak() { // to vet a module of the reader's own, go test reads all that it imports, for a minute
		r.env = append(r.env, "GOFLAGS="+os.Getenv("GOFLAGS")+" -vet=off")
	}
	r.linkRepository()
	cmd := r.bash("--norc", "--noprofile")
	r.stdin, err = cmd.StdinPipe()
	require.NoError(t, err)
	r.shell = rig.Run(t, cmd)
	fmt.Fprintln(r.stdin, `trap 'failed=$?' ERR`)

	if page == front { // it starts the fabric by go run, which compiles it
		r.launch(block{text: "fabricd up --traffic uniform:0.01"}, block{text: "...\nCtrl-C drains...\n"})
	}
	all := blocksOf(strings.NewReplacer(
		"4222", strconv.Itoa(rig.FreePort(t)),
		"/tmp/", t.TempDir()+"/",
		"=../weft", "="+repository(t), // where it is compiled already
	).Replace(string(text)))
	for i, b := range all {
		following := block{}
		if i+1 < len(all) && all[i+1].kind == "text" {
			following = all[i+1]
		}
		r.do(b, following)
	}
	for len(r.programs) > 0 {
		r.interrupt()
	}
	require.NoError(t, r.stdin.Close())
	require.NotZero(t, r.ran, "the page has no command")
}

// bash is a shell in the reader's folder.
func (r *reader) bash(args ...string) *exec.Cmd {
	cmd := exec.Command("bash", args...)
	cmd.Dir, cmd.Env = r.dir, r.env
	return cmd
}

// repository is the folder of the repository.
func repository(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	require.NoError(t, err)
	return dir
}

// linkRepository makes the folder in which commands run: it has every file of the repository, and
// what is written into it is gone with the test.
func (r *reader) linkRepository() {
	require.NoError(r, os.Mkdir(r.dir, 0o700))
	entries, err := os.ReadDir(repository(r.T))
	require.NoError(r, err)
	for _, e := range entries {
		require.NoError(r, os.Symlink(filepath.Join(repository(r.T), e.Name()), filepath.Join(r.dir, e.Name())))
	}
}

func (r *reader) do(b, following block) {
	switch {
	case b.kind == "sh" && b.arg == "&":
		r.launch(b, following)
	case b.kind == "sh" && b.arg == "not-run":
		for line := range strings.Lines(b.text) {
			command, _, _ := strings.Cut(line, " #")
			if args, ok := strings.CutPrefix(command, "fabricd "); ok {
				invoked(r.T, args)
			}
		}
	case b.kind == "sh":
		require.Contains(r, []string{"", "fails"}, b.arg, "line %d", b.line)
		said, code := r.run(b.text)
		require.Equal(r, b.arg == "fails", code != 0, "line %d: code %d of\n%s%s", b.line, code, b.text, said)
		if following.text != "" {
			r.requireShown(following, said)
		}
	case b.kind == "text" && b.arg == "^C":
		r.requireShown(b, r.interrupt())
	case b.kind != "text" && b.arg != "":
		path := filepath.Join(r.dir, b.arg)
		require.NoError(r, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(r, os.WriteFile(path, []byte(b.text), 0o600))
	}
}

// requireShown checks that a block shows an output to its end.
func (r *reader) requireShown(b block, said string) {
	r.Helper()
	whole := regexp.MustCompile(shown(b.text, b.arg != "").String() + `$`)
	require.True(r, whole.MatchString(said), "line %d shows\n%s\nand it is\n%s", b.line, b.text, said)
}

// run runs commands in the shell, and returns what they print and the exit code of one that failed.
func (r *reader) run(commands string) (said string, code int) {
	r.Helper()
	r.ran++
	const end = "\x01end "
	before := len(r.shell.Out.String())
	fmt.Fprintf(r.stdin, "failed=0\n{ %s\n} </dev/null\nprintf '\\001end %%d\\n' $failed\n", strings.TrimSpace(commands))
	late := time.After(patience)
	for !r.shell.Ended() && !strings.Contains(r.shell.Out.String()[before:], end) {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-late:
			require.FailNow(r, "it does not end", "%s%s", commands, r.shell.Out.String()[before:])
		}
	}
	said, rest, ok := strings.Cut(r.shell.Out.String()[before:], end)
	require.True(r, ok, "the shell has ended: %s%s", commands, said)
	code, err := strconv.Atoi(strings.TrimSpace(rest))
	require.NoError(r, err)
	return said, code
}

// launch starts a program, and waits until it has said what the page shows.
func (r *reader) launch(b, following block) {
	r.Helper()
	require.NotEmpty(r, following.text, "line %d: the page does not show when it is up", b.line)
	r.ran++
	p := rig.Run(r, r.bash("-c", "exec "+b.text))
	r.programs = append(r.programs, p)
	want := shown(following.text, following.arg != "")
	rig.Until(r, func() bool { return p.Ended() || want.MatchString(p.Out.String()) },
		"line %d shows\n%s", following.line, following.text)
	require.Regexp(r, want, p.Out.String(), "line %d", following.line)
}

// interrupt ends the latest program with Ctrl-C, and returns all that it has said.
func (r *reader) interrupt() string {
	r.Helper()
	p := r.programs[len(r.programs)-1]
	r.programs = slices.Delete(r.programs, len(r.programs)-1, len(r.programs))
	if p.Ended() {
		return p.Out.String() // the page has killed it
	}
	p.Signal(syscall.SIGINT)
	code, said := p.Ends()
	require.Zero(r, code, said)
	return said
}

func TestPagesDoWhatTheySay(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	testenv.Need(t, "bash", "bash")
	testenv.Need(t, "curl", "curl")
	testenv.Need(t, "clang", "the package clang")
	testenv.Need(t, "wasm-ld", "the package lld")
	testenv.Need(t, "python3", "python3")
	pages := []string{front, "../../examples/README.md", "../../switch/firmware/examples/README.md"}
	for _, folder := range []string{"tutorials", "howto"} {
		found, err := filepath.Glob(filepath.Join("../../docs", folder, "*.md"))
		require.NoError(t, err)
		require.NotEmpty(t, found)
		pages = append(pages, found...)
	}
	for _, page := range pages {
		t.Run(strings.TrimPrefix(filepath.ToSlash(page), "../../"), func(t *testing.T) {
			t.Parallel()
			read(t, page)
		})
	}
}
