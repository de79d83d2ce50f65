package up

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
)

// fileFlags name the files that the settings of a fabric are read from and written to.
type fileFlags struct {
	file, save string

	doc *document.Doc // of file; nil: there is none
}

func (u *fileFlags) flags(f *pflag.FlagSet) {
	f.StringVarP(&u.file, "file", "f", "", "take topology, routing, settings and traffic from a scenario `file`; "+
		"flags given beside it override them")
	f.StringVar(&u.save, "save", "", "write all settings that differ from the defaults to this `file` "+
		"once the fabric is up, for --file and fabricd run")
}

// configure takes the settings of --file. Flags that were given override them.
func (u *upFlags) configure(stderr io.Writer) error {
	if err := command.CanWrite("--save", u.save); err != nil || u.file == "" {
		return err
	}
	doc, f, err := document.Read[format.FabricFile](u.file)
	if err != nil {
		return command.AnExperiment.Unless(u.file, err)
	}
	if len(f.Choices) > 0 {
		return doc.Errorf("$.choices", "choices settle what single packets do, which fabricd run can have: "+
			"leave them out for fabricd up")
	}
	if len(f.Routings) > 0 {
		return doc.Errorf("$.routings", "only fabricd run has switches of several routings: "+
			"leave them out for fabricd up")
	}
	command.Warn(stderr, doc.Warnings())
	u.doc = doc
	s := f.Settings
	s.Traffic, s.Manager.Method = cmp.Or(s.Traffic, "none"), cmp.Or(s.Manager.Method, manage.None)
	for _, x := range settings.All() {
		if slices.Contains(u.given, x.Flag) {
			s.Copy(x.Path, u.settings)
		}
	}
	u.settings = s
	if len(f.Timeline) > 0 || len(f.Programs) > 0 || f.Expect != (format.Expect{}) {
		fmt.Fprintf(stderr, "fabricd: %s: the timeline, programs and what is expected are for fabricd run: "+
			"the fabric runs without them\n", u.file)
	}
	return u.mistakes(s.Check())
}

// mistakes are what is wrong with settings, each with its flag, or its place in the file.
func (u *upFlags) mistakes(list []settings.Mistake) error {
	var errs document.Errors
	for _, m := range list {
		i := slices.IndexFunc(settings.All(), func(x settings.Setting) bool { return x.Path == m.Path })
		switch {
		case u.doc != nil && (i < 0 || !slices.Contains(u.given, settings.All()[i].Flag)):
			errs.Add(u.doc.Errorf("$."+m.Path, "%w", m.Err))
		case i >= 0 && settings.All()[i].Kind() != "string": // the others name themselves
			x := settings.All()[i]
			errs.Add(fmt.Errorf("--%s %s: %w", x.Flag, command.SettingText(x, u.settings), m.Err))
		default:
			errs.Add(m.Err)
		}
	}
	return errs.Err()
}

// savedDuration is how long fabricd run runs a fabric that was saved without --for.
const savedDuration = 10 * time.Second

// write writes what runs to --save.
func (u *upFlags) write(s settings.Settings) error {
	if u.save == "" {
		return nil
	}
	data, err := format.Write(format.File{
		Name: u.config.Name, Settings: s.Short(),
		Duration: format.Duration(cmp.Or(u.config.For, savedDuration).String()),
	})
	if err != nil {
		return err
	}
	return safefile.Write(u.save, data)
}
