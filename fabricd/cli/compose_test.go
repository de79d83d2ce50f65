package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	linkmon "github.com/weft-fabric/weft/linkmon/cli"
)

// compose is what of a compose file we write; any other field is a mistake of ours, or a test that
// has to grow.
type compose struct {
	Name     string                       `yaml:"name"`
	Nats     any                          `yaml:"x-nats"`
	Weft     any                          `yaml:"x-weft"`
	Leader   any                          `yaml:"x-leader"`
	Configs  map[string]map[string]string `yaml:"configs"`
	Services map[string]composeService    `yaml:"services"`
}

type composeService struct {
	Image string `yaml:"image"`
	Build struct {
		Context    string `yaml:"context"`
		Dockerfile string `yaml:"dockerfile"`
	} `yaml:"build"`
	Command         []string            `yaml:"command"`
	Environment     map[string]string   `yaml:"environment"`
	Ports           []string            `yaml:"ports"`
	NetworkMode     string              `yaml:"network_mode"`
	StopSignal      string              `yaml:"stop_signal"`
	StopGracePeriod string              `yaml:"stop_grace_period"`
	Restart         string              `yaml:"restart"`
	ReadOnly        bool                `yaml:"read_only"`
	Tmpfs           []string            `yaml:"tmpfs"`
	Volumes         []string            `yaml:"volumes"`
	Configs         []map[string]string `yaml:"configs"`
	DependsOn       []string            `yaml:"depends_on"`
	CapDrop         []string            `yaml:"cap_drop"`
	SecurityOpt     []string            `yaml:"security_opt"`
}

var composeVariable = regexp.MustCompile(`\$\{\w+:-([^}]*)\}`)

func readCompose(t *testing.T, name string) (c compose) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deployments, name))
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalWithOptions(text, &c, yaml.Strict()), name)
	return c
}

func TestTheComposeFilesHaveTheFilesAndFlagsThatThereAre(t *testing.T) {
	t.Parallel()
	for name, commands := range map[string]int{"compose.yaml": 1, "compose-cluster.yaml": 5, "compose-grafana.yaml": 1} {
		text, err := os.ReadFile(filepath.Join(deployments, name))
		require.NoError(t, err)
		c := readCompose(t, name)
		ours := 0
		for service, s := range c.Services {
			at := name + ": " + service
			for _, d := range s.DependsOn {
				require.Contains(t, c.Services, d, at)
			}
			for _, v := range s.Volumes {
				source, _, _ := strings.Cut(v, ":")
				_, err := os.Stat(filepath.Join(deployments, source))
				require.NoError(t, err, at)
			}
			for _, p := range s.Ports {
				require.True(t, strings.HasPrefix(p, "127.0.0.1:"), "%s can be reached from other machines", at)
			}
			for _, from := range s.Configs {
				require.FileExists(t, filepath.Join(deployments, c.Configs[from["source"]]["file"]), at)
			}
			if s.Image != image {
				require.Empty(t, s.Build.Context, at)
				continue
			}
			ours++
			require.FileExists(t, filepath.Join(deployments, s.Build.Context, s.Build.Dockerfile), at)
			invoked(t, composeVariable.ReplaceAllString(strings.Join(s.Command, " "), "$1"))
		}
		require.Equal(t, commands, ours, name)
		// What a comment has a reader run in a container.
		for _, line := range regexp.MustCompile(`exec \w+ linkmon (.*)`).FindAllStringSubmatch(string(text), -1) {
			cmd, rest, err := linkmon.Command().Find(strings.Fields(line[1]))
			require.NoError(t, err, line[0])
			require.NotEqual(t, "linkmon", cmd.Name(), line[0])
			require.NoError(t, cmd.ParseFlags(rest), line[0])
		}
	}
}
