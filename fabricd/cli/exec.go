package cli

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/subnet"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware/process"
)

// execName is the name of the firmware that is any program: exec:PROGRAM:OPTIONS.
const execName = "exec"

// programs are those that run as firmware of this process. Only a command line has one started, by
// --routing or by --exec: what a file, a leader or whoever asks over HTTP names must be allowed by
// that.
type programs struct {
	mu      sync.Mutex
	users   int                         // guarded by mu; commands that run
	allowed map[string]bool             // guarded by mu; by absolute path
	running map[string]*process.Process // guarded by mu; by absolute path and options
	log     *slog.Logger                // guarded by mu
}

// started are the programs of this process.
var started = sync.OnceValue(func() *programs {
	p := &programs{allowed: map[string]bool{}, running: map[string]*process.Process{}}
	if err := subnet.Add(subnet.Source{
		Name: execName, Syntax: "PROGRAM[:OPTIONS]", About: "any program, docs/reference/exec.md", Open: p.open,
	}); err != nil {
		panic("cli: BUG: " + err.Error())
	}
	return p
})

// allow has all commands below cmd start the programs that their command line names, and end them
// when they end.
func (p *programs) allow(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		p.allow(c)
	}
	run := cmd.RunE
	if run == nil {
		return
	}
	var named []string
	if slices.Contains(execs, strings.TrimPrefix(cmd.CommandPath(), "fabricd ")) {
		cmd.Flags().StringArrayVar(&named, execName, nil,
			"`program` that may be started as firmware when a file or a leader names it, as exec:PROGRAM; may be repeated")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if f := cmd.Flags().Lookup("routing"); f != nil && f.Changed {
			if rest, ok := strings.CutPrefix(f.Value.String(), execName+":"); ok {
				path, _, _ := strings.Cut(rest, ":")
				named = append(named, path)
			}
		}
		p.begin(named, slog.New(slog.NewTextHandler(command.Printable(cmd.ErrOrStderr()), nil)))
		defer p.end()
		return run(cmd, args)
	}
}

// execs are the commands that take --exec.
var execs = []string{"agent", "explain", "run", "scenario validate", "sweep", "switch", "up", "verify"}

func (p *programs) begin(allowed []string, log *slog.Logger) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users++
	p.log = log
	for _, path := range allowed {
		abs, _ := filepath.Abs(path) // without a working directory "", which is no program
		p.allowed[abs] = true
	}
}

func (p *programs) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users--; p.users == 0 {
		for _, r := range p.running {
			r.Close()
		}
		clear(p.running)
		clear(p.allowed)
	}
}

// open starts a program, or finds it if it runs already with the same options.
func (p *programs) open(rest string) (fw switching.Firmware, err error) {
	path, options, _ := strings.Cut(rest, ":")
	if path == "" {
		return fw, fmt.Errorf("firmware %s: which program? name it, as in exec:./fw.py", execName)
	}
	abs, _ := filepath.Abs(path)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.allowed[abs] {
		return fw, fmt.Errorf("firmware %s:%s: a program is started only if the command line says so: add --exec %[2]s",
			execName, path)
	}
	r := p.running[abs+":"+options]
	if r == nil {
		c := process.Config{Path: abs, Options: map[string]string{}, Log: p.log}
		for field := range strings.FieldsFuncSeq(options, func(r rune) bool { return r == ',' }) {
			key, value, _ := strings.Cut(field, "=")
			c.Options[key] = value
		}
		if r, err = process.Start(context.Background(), c); err != nil {
			return fw, err
		}
		p.running[abs+":"+options] = r
	}
	fw = r.Firmware
	fw.Name = execName + ":" + path
	return fw, subnet.Set(&fw, options) // which checks that it takes them
}
