package cli_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mattn/go-shellwords"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/modules"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	linkmon "github.com/weft-fabric/weft/linkmon/cli"
)

// programs are what scripts execute: each is the test binary again.
var programs = map[string]func(){
	"fabricd": func() { cli.Main() }, "linkmon": linkmon.Main, "session": session, "ours": ours,
}

// What fabricd and linkmon print is the golden text in testdata/script, whose folder and registry
// of fabrics are each script's own. Write the texts anew with: go test ./fabricd/cli -run Scripts
// -update. A script that takes long begins with [brief] skip.
func TestScripts(t *testing.T) {
	testenv.Unraced(t)
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: testenv.Update(), RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Values[test{}] = e.T()
			e.Setenv("REPO", root)
			e.Setenv("WEFT_RUN_DIR", filepath.Join(e.WorkDir, ".run"))
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "brief" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return testenv.Short() && !testenv.Update(), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"shape": cmdShape, "await": cmdAwait, "server": cmdServer, "need": cmdNeed,
		},
	})
}

// session is a program that runs the command lines of a file one after the other, and prints each
// as a terminal shows it: the line, what it printed, and its exit code unless that is 0. A line may
// have variables, as $REPO, and end in "< FILE". Lines of standard error begin with "! ". After the
// prompt "$ " times are a "?", for most are measured, but not in errors. After "~ " all is that
// varies from run to run.
func session() {
	if err := modules.Add(); err != nil {
		panic(err)
	}
	text, err := os.ReadFile(os.Args[1])
	folder, notFound := os.Getwd()
	if err := errors.Join(err, notFound); err != nil {
		panic(err)
	}
	parser := shellwords.NewParser()
	parser.ParseEnv = true
	for line := range strings.Lines(string(text)) {
		prompt, words, _ := strings.Cut(line, " ")
		if prompt != "$" && prompt != "~" {
			continue
		}
		fmt.Print(line)
		if strings.HasPrefix(words, "#") {
			continue
		}
		args, err := parser.Parse(words) // up to <
		if err != nil {
			panic(err)
		}
		_, input, _ := strings.Cut(strings.TrimSpace(words), " < ")
		in, _ := os.Open(input) // nil reads nothing
		roots := map[string]func() *cobra.Command{"fabricd": cli.Command, "linkmon": linkmon.Command, "ours": withOurs}
		root := roots[args[0]]()
		var out, errs rig.Output
		root.SetIn(in)
		root.SetOut(&out)
		root.SetErr(&errs)
		root.SetArgs(args[1:])
		os.Args = args // which errors show in full
		code := command.Run(context.Background(), root)
		said := timeless(out.String())
		for line := range strings.Lines(errs.String()) {
			if !strings.HasPrefix(line, args[0]+": ") {
				line = timeless(line)
			}
			said += "! " + line
		}
		if prompt == "~" {
			said = shape(said)
		}
		fmt.Print(freePort.ReplaceAllString(strings.ReplaceAll(said, folder, "$WORK"), "$1?"))
		if code != 0 {
			fmt.Printf("[exit %d]\n", code)
		}
	}
}

var (
	timeInJSON = regexp.MustCompile(`("(?:\w*seconds|(?:\w+_)?at)":)[\d.e-]+`)
	// Columns are as wide as the time is long.
	timeInText = regexp.MustCompile(`(?:( ) +)?\b\d[\d.]*( ?)[mµun]?s\b(?:( ) +)?`)
	freePort   = regexp.MustCompile(`(127\.0\.0\.1:)\d{4,}`)
	eventHash  = regexp.MustCompile(`(event hash )[\da-f]+`)
	atTimes    = regexp.MustCompile(
		`\n +(?:shared with faults? [\d, ]+counted at the same time|[\d.]+s  delivered [^\n]+)`)
	// What varies is no part of a name, and is not 0.
	varying = regexp.MustCompile(`((?m:^)|[\s(=~+±/\[]|":)(?:[1-9]\d*|0\.\d+)(?:[.,:]\d+)*\b|` +
		`("started":"|on host |since |time(?:stamp)?=")[\w:.-]+`)
	blanks = regexp.MustCompile(` {2,}`)
)

// timeless is a text with a "?" for every time and hash of events, without what depends on times:
// which other faults have not settled, and the state of now and then.
func timeless(text string) string {
	text = eventHash.ReplaceAllString(atTimes.ReplaceAllString(text, ""), "$1?")
	return timeInText.ReplaceAllString(timeInJSON.ReplaceAllString(text, "$1?"), "$1?${2}s$3")
}

// shape is a text with a "?" for every time and number but 0, however many blanks are before it and
// how often a line like it is repeated.
func shape(text string) string {
	text = blanks.ReplaceAllString(varying.ReplaceAllString(timeless(text), "$1$2?"), "  ")
	return strings.Join(slices.Compact(strings.SplitAfter(text, "\n")), "")
}

// cmdShape rewrites what was printed, or a file, as its shape.
func cmdShape(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: shape stdout|stderr|FILE")
	}
	_, err := ts.Stdout().Write([]byte(shape(ts.ReadFile(args[0]))))
	ts.Check(err)
}

// cmdAwait waits until there is a file, or until the standard output of a command matches a regular
// expression.
func cmdAwait(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: await FILE | await REGEXP COMMAND ARGS...")
	}
	rig.Until(ts.Value(test{}).(testing.TB), func() bool {
		if len(args) == 1 {
			_, err := os.Stat(ts.MkAbs(args[0]))
			return err == nil
		}
		err := ts.Exec(args[1], args[2:]...)
		return err == nil && regexp.MustCompile(args[0]).MatchString(ts.ReadFile("stdout"))
	}, args)
}

// cmdNeed skips a script for want of a program, and names what it is installed from.
func cmdNeed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: need PROGRAM PACKAGE")
	}
	testenv.Need(ts.Value(test{}).(testing.TB), args[0], args[1])
}

// test is the key of the test that runs a script.
type test struct{}

// cmdServer starts a NATS server of a configuration, and names its URL by a variable.
func cmdServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: server NAME [CONFIGURATION...]")
	}
	t := ts.Value(test{}).(testing.TB)
	ts.Setenv(args[0], natstest.Start(t, natstest.Newest, strings.Join(args[1:], " ")).URL)
}
