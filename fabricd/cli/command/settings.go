package command

import (
	"strconv"

	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/fabricd/settings"
)

// SettingFlags adds the flags of all settings to f. They write to s, whose values are the defaults
// where the settings say none. Help replaces that of the settings, by flag.
func SettingFlags(f *pflag.FlagSet, s *settings.Settings, help map[string]string) {
	for _, x := range settings.All() {
		if x.Flag == "" {
			continue
		}
		text, other := help[x.Flag]
		if !other {
			text = x.Help
		}
		var v pflag.Value = settingFlag{x, s}
		if x.Most != 0 {
			v = boundedSetting{settingFlag{x, s}}
		}
		flag := f.VarPF(v, x.Flag, x.Letter, text)
		if x.Default != "" {
			flag.DefValue = x.Default
		}
		if x.Kind() == "bool" {
			flag.NoOptDefVal = "true"
		}
	}
}

// settingFlag is the value of a flag that is a setting.
type settingFlag struct {
	settings.Setting
	to *settings.Settings
}

// SettingText is a setting of s as its flag has it.
func SettingText(x settings.Setting, s settings.Settings) string {
	text := s.Text(x.Path)
	if b, err := strconv.ParseBool(text); err == nil && x.Not {
		return strconv.FormatBool(!b)
	}
	return text
}

// String implements pflag.Value.
func (v settingFlag) String() string {
	if v.to == nil { // the zero value, which pflag asks for
		return ""
	}
	return SettingText(v.Setting, *v.to)
}

// Type implements pflag.Value.
func (v settingFlag) Type() string { return v.Kind() }

// Set implements pflag.Value.
func (v settingFlag) Set(text string) error {
	if b, err := strconv.ParseBool(text); err == nil && v.Not {
		text = strconv.FormatBool(!b)
	}
	next := *v.to
	if err := next.Set(v.Path, text); err != nil {
		return err
	}
	if n := next.Number(v.Path); !v.Within(n) && !(v.Zero && n == 0) {
		return errBounds
	}
	*v.to = next
	return nil
}

// boundedSetting is one that has bounds.
type boundedSetting struct{ settingFlag }

// Bounds implements [Bounded].
func (v boundedSetting) Bounds() string {
	x := v.Setting
	if x.Zero {
		x.Least = 0
	}
	return x.Bounds()
}
