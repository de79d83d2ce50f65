// Command licences lists the licence of every dependency of Weft, and fails on one that is not
// known to allow use under Apache-2.0. With a file it writes there what has to go with the
// programs: the texts of all that is linked in.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
)

// dependency is a Go module or an npm package.
type dependency struct {
	name, version string
	linked        bool // into fabricd or linkmon, or the page
	licences      []string
	texts         []string // files
}

func main() {
	if len(os.Args) > 2 {
		fmt.Fprintln(os.Stderr, "usage: licences [FILE], in the folder of go.mod")
		os.Exit(2)
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

func run(file []string) error {
	all, err := modules()
	if err != nil {
		return err
	}
	page, err := packages("fabricd/web/app")
	if err != nil {
		return err
	}
	all = append(all, page...)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, d := range all {
		use := "tests"
		if d.linked {
			use = "programs"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", d.name, d.version, use, strings.Join(d.licences, " and "))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if bad := refused(all); len(bad) > 0 {
		return fmt.Errorf("%s", strings.Join(bad, "\n"))
	}
	fmt.Printf("%d dependencies, all of which allow use under Apache-2.0\n", len(all))
	if len(file) == 0 {
		return nil
	}
	return write(file[0], all)
}

// refused says of each dependency that must not be used why.
func refused(all []dependency) (bad []string) {
	for _, d := range all {
		at := d.name + " " + d.version
		if len(d.licences) == 0 {
			bad = append(bad,
				fmt.Sprintf("%s has no licence that is known: read %v, and add it to deploy/licences if it allows use under "+
					"Apache-2.0",
					at, d.texts))
		}
		for _, l := range d.licences {
			if !slices.Contains(allowed, l) {
				bad = append(bad, fmt.Sprintf("%s is under %s, which does not allow use under Apache-2.0", at, l))
			}
		}
	}
	return bad
}

// systems are those for which releases are built: each links other modules.
var systems = []string{"linux", "darwin", "windows"}

// modules are the Go modules that packages or their tests of this module import, Go itself first.
func modules() ([]dependency, error) {
	linked := map[string]bool{}
	var all []goModule
	for _, system := range systems {
		programs, err := list(system, "./fabricd", "./linkmon")
		if err != nil {
			return nil, err
		}
		for _, m := range programs {
			linked[m.Path] = true
		}
		tested, err := list(system, "-test", "./...")
		if err != nil {
			return nil, err
		}
		all = append(all, tested...)
	}
	slices.SortFunc(all, func(a, b goModule) int { return strings.Compare(a.Path, b.Path) })
	root, err := output(exec.Command("go", "env", "GOROOT"))
	if err != nil {
		return nil, err
	}
	found := []dependency{{
		name: "Go", version: runtime.Version(), linked: true,
		texts: []string{filepath.Join(string(bytes.TrimSpace(root)), "LICENSE")},
	}}
	for _, m := range slices.CompactFunc(all, func(a, b goModule) bool { return a.Path == b.Path }) {
		texts := []string{filepath.Join(m.Dir, chosen[m.Path])}
		if chosen[m.Path] == "" {
			if texts, err = licenceFiles(m.Dir); err != nil {
				return nil, err
			}
		}
		found = append(found, dependency{name: m.Path, version: m.Version, linked: linked[m.Path], texts: texts})
	}
	for i, d := range found {
		if found[i].licences, err = licencesOf(d.texts); err != nil {
			return nil, err
		}
	}
	return found, nil
}

type goModule struct{ Path, Version, Dir string }

// list is the modules, without this one, of which packages import something on a system.
func list(system string, args ...string) (found []goModule, err error) {
	const format = `{{with .Module}}{{if not .Main}}{{.Path}}|{{.Version}}|{{.Dir}}{{end}}{{end}}`
	cmd := exec.Command("go", append([]string{"list", "-deps", "-f", format}, args...)...)
	cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
	out, err := output(cmd)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		if part := strings.Split(strings.TrimSpace(line), "|"); len(part) == 3 {
			found = append(found, goModule{part[0], part[1], part[2]})
		}
	}
	return found, nil
}

func output(cmd *exec.Cmd) ([]byte, error) {
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, said.Bytes())
	}
	return out, nil
}

var licenceName = regexp.MustCompile(`(?i)^((un)?licen[cs]e|copying|copyright|notice)([-.].*)?$`)

// licenceFiles are the files at the top of a folder that a licence or a notice is in.
func licenceFiles(dir string) (found []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: run go mod download", err)
	}
	for _, e := range entries {
		if !e.IsDir() && licenceName.MatchString(e.Name()) && filepath.Ext(e.Name()) != ".go" {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	return found, nil
}

// packages are the npm packages that the page is built of. Their texts are there after npm ci; the
// lock file names their licences.
func packages(dir string) (found []dependency, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version, License string
			Dev              bool
		}
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, fmt.Errorf("%s/package-lock.json: %w", dir, err)
	}
	for at, p := range lock.Packages {
		if at == "" || p.Dev {
			continue
		}
		d := dependency{name: "npm " + strings.TrimPrefix(at, "node_modules/"), version: p.Version, linked: true}
		if p.License != "" {
			d.licences = []string{p.License}
		}
		if _, err := os.Stat(filepath.Join(dir, at)); err == nil {
			if d.texts, err = licenceFiles(filepath.Join(dir, at)); err != nil {
				return nil, err
			}
		}
		found = append(found, d)
	}
	slices.SortFunc(found, func(a, b dependency) int { return strings.Compare(a.name, b.name) })
	return found, nil
}

// write writes the texts of all that is linked in to a file.
func write(file string, all []dependency) error {
	var out bytes.Buffer
	own, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	fmt.Fprintf(&out, "Weft, under Apache-2.0:\n\n%s", own)
	for _, d := range all {
		if !d.linked {
			continue
		}
		fmt.Fprintf(&out, "\n%s\n%s %s, under %s:\n", strings.Repeat("=", 80), d.name, d.version,
			strings.Join(d.licences, " and "))
		if len(d.texts) == 0 {
			fmt.Fprintln(&out, "its text is in the package")
		}
		for _, name := range d.texts {
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, "\n%s\n", bytes.TrimSpace(text))
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}
