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
	p := &programs{}
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
		cmd.Flags().StringArrayVar(&named, execName, nil, "`program` that may be started as firmware when a file or a leader names it, as exec:PROGRAM; may be repeated")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		list := named
		if f := cmd.Flags().Lookup("routing"); f != nil && f.Changed {
			if rest, ok := strings.CutPrefix(f.Value.String(), execName+":"); ok {
				path, _, _ := strings.Cut(rest, ":")
				list = append(slices.Clip(list), path)
			}
		}
		if err := p.begin(list, slog.New(slog.NewTextHandler(command.Printable(cmd.ErrOrStderr()), nil))); err != nil {
			return err
		}
		defer p.end()
		return run(cmd, args)
	}
}

// execs are the commands that take --exec.
var execs = []string{"agent", "explain", "run", "scenario validate", "sweep", "switch", "up", "verify"}

func (p *programs) begin(allowed []string, log *slog.Logger) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users == 0 {
		p.allowed, p.running, p.log = map[string]bool{}, map[string]*process.Process{}, log
	}
	for _, path := range allowed {
		abs, err := filepath.Abs(path)
		if err != nil {
			return fmt.Errorf("%s:%s: %w", execName, path, err)
		}
		p.allowed[abs] = true
	}
	p.users++
	return nil
}

func (p *programs) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users--; p.users > 0 {
		return
	}
	for _, r := range p.running {
		r.Close()
	}
	p.running = nil
}

// open starts a program, or finds it if it runs already with the same options.
func (p *programs) open(rest string) (fw switching.Firmware, err error) {
	path, text, given := strings.Cut(rest, ":")
	if path == "" {
		return fw, fmt.Errorf("firmware %s: which program? name it, as in exec:./fw.py", execName)
	}
	options := map[string]string{}
	for field := range strings.SplitSeq(text, ",") {
		key, value, found := strings.Cut(field, "=")
		switch _, twice := options[key]; {
		case given && (!found || key == ""):
			return fw, fmt.Errorf("firmware %s:%s: expected KEY=VALUE,... behind the program, found %q", execName, path, text)
		case twice:
			return fw, fmt.Errorf("firmware %s:%s: option %s is given twice", execName, path, key)
		case given:
			options[key] = value
		}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return fw, fmt.Errorf("firmware %s:%s: %w", execName, path, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.allowed[abs] {
		return fw, fmt.Errorf("firmware %s:%s: a program is started only if the command line says so: add --exec %s", execName, path, path)
	}
	r := p.running[abs+":"+text]
	if r == nil {
		if r, err = process.Start(context.Background(), process.Config{Path: abs, Options: options, Log: p.log}); err != nil {
			return fw, err
		}
		p.running[abs+":"+text] = r
	}
	return r.Firmware(), nil
}
