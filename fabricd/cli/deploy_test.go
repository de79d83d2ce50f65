package cli_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/fabricd/cli/command"
)

const deployments = "../../deploy"

// image is what deploy/Dockerfile builds, of the version that comes next or is out.
var image = "ghcr.io/weft-fabric/weft:" + strings.TrimSuffix(command.Release, "-dev")

// accepted has the NATS server of our module check a configuration.
func accepted(t *testing.T, path string, env ...string) {
	t.Helper()
	program, err := natstest.Program(natstest.Newest)
	require.NoError(t, err)
	cmd := exec.Command(program, "-t", "-c", path)
	cmd.Env = append(os.Environ(), env...)
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, string(said))
}

// invoked checks that a command line is one of ours, with flags that there are. Values that a shell
// would fill in are as good as any.
func invoked(t *testing.T, line string) {
	t.Helper()
	args := strings.Fields(line)
	cmd, rest, err := cli.Command().Find(args)
	require.NoError(t, err, line)
	require.NotEqual(t, "fabricd", cmd.Name(), line)
	require.NoError(t, cmd.ParseFlags(rest), line)
}

func TestTheServersConfigurationIsOne(t *testing.T) {
	t.Parallel()
	accepted(t, filepath.Join(deployments, "nats.conf"), "NAME=h1", "LISTEN=10.0.0.1:4222", "CLUSTER=10.0.0.1:6222",
		"STORE="+t.TempDir())
}

// kubernetes is what of its objects we write; any other field is a mistake of ours, or a test that
// has to grow.
type kubernetes struct {
	APIVersion string            `yaml:"apiVersion"`
	Kind       string            `yaml:"kind"`
	Metadata   kubernetesName    `yaml:"metadata"`
	Data       map[string]string `yaml:"data"`
	Spec       struct {
		ClusterIP                string            `yaml:"clusterIP"`
		PublishNotReadyAddresses bool              `yaml:"publishNotReadyAddresses"`
		Selector                 any               `yaml:"selector"`
		Ports                    []kubernetesPort  `yaml:"ports"`
		ServiceName              string            `yaml:"serviceName"`
		Replicas                 int               `yaml:"replicas"`
		PodManagementPolicy      string            `yaml:"podManagementPolicy"`
		Template                 kubernetesPod     `yaml:"template"`
		VolumeClaimTemplates     []kubernetesClaim `yaml:"volumeClaimTemplates"`
	} `yaml:"spec"`
}

type kubernetesName struct {
	Name   string            `yaml:"name"`
	Labels map[string]string `yaml:"labels"`
}

type kubernetesPort struct {
	Name          string `yaml:"name"`
	Port          int    `yaml:"port"`
	TargetPort    string `yaml:"targetPort"`
	ContainerPort int    `yaml:"containerPort"`
}

type kubernetesClaim struct {
	Metadata kubernetesName `yaml:"metadata"`
	Spec     struct {
		AccessModes []string `yaml:"accessModes"`
		Resources   struct {
			Requests map[string]string `yaml:"requests"`
		} `yaml:"resources"`
	} `yaml:"spec"`
}

type kubernetesPod struct {
	Metadata kubernetesName `yaml:"metadata"`
	Spec     struct {
		TerminationGracePeriodSeconds int `yaml:"terminationGracePeriodSeconds"`
		SecurityContext               struct {
			RunAsNonRoot bool `yaml:"runAsNonRoot"`
			RunAsUser    int  `yaml:"runAsUser"`
			FSGroup      int  `yaml:"fsGroup"`
		} `yaml:"securityContext"`
		TopologySpreadConstraints []struct {
			MaxSkew           int    `yaml:"maxSkew"`
			TopologyKey       string `yaml:"topologyKey"`
			WhenUnsatisfiable string `yaml:"whenUnsatisfiable"`
			LabelSelector     any    `yaml:"labelSelector"`
		} `yaml:"topologySpreadConstraints"`
		Containers []struct {
			Name  string   `yaml:"name"`
			Image string   `yaml:"image"`
			Args  []string `yaml:"args"`
			Env   []struct {
				Name      string `yaml:"name"`
				Value     string `yaml:"value"`
				ValueFrom struct {
					FieldRef struct {
						FieldPath string `yaml:"fieldPath"`
					} `yaml:"fieldRef"`
				} `yaml:"valueFrom"`
			} `yaml:"env"`
			Ports          []kubernetesPort `yaml:"ports"`
			ReadinessProbe struct {
				HTTPGet struct {
					Path string `yaml:"path"`
					Port string `yaml:"port"`
				} `yaml:"httpGet"`
				TCPSocket struct {
					Port string `yaml:"port"`
				} `yaml:"tcpSocket"`
				PeriodSeconds int `yaml:"periodSeconds"`
			} `yaml:"readinessProbe"`
			Resources struct {
				Requests map[string]string `yaml:"requests"`
				Limits   map[string]string `yaml:"limits"`
			} `yaml:"resources"`
			VolumeMounts []struct {
				Name      string `yaml:"name"`
				MountPath string `yaml:"mountPath"`
				ReadOnly  bool   `yaml:"readOnly"`
			} `yaml:"volumeMounts"`
		} `yaml:"containers"`
		Volumes []struct {
			Name      string         `yaml:"name"`
			ConfigMap kubernetesName `yaml:"configMap"`
			Secret    struct {
				SecretName  string `yaml:"secretName"`
				DefaultMode int    `yaml:"defaultMode"`
			} `yaml:"secret"`
		} `yaml:"volumes"`
	} `yaml:"spec"`
}

func TestTheManifestsHaveTheFieldsAndFlagsThatThereAre(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(deployments, "kubernetes.yaml"))
	require.NoError(t, err)
	d := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict())
	kinds := map[string]int{}
	commands := 0
	for {
		var o kubernetes
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		kinds[o.APIVersion+" "+o.Kind]++
		if config := o.Data["nats.conf"]; config != "" {
			path := filepath.Join(t.TempDir(), "nats.conf")
			require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(config, "/data", t.TempDir())), 0o600))
			accepted(t, path, "POD_NAME=weft-nats-0")
		}
		pod := o.Spec.Template
		volumes := map[string]bool{}
		for _, v := range pod.Spec.Volumes {
			volumes[v.Name] = true
		}
		for _, v := range o.Spec.VolumeClaimTemplates {
			volumes[v.Metadata.Name] = true
		}
		for _, c := range pod.Spec.Containers {
			require.Contains(t, o.Spec.Selector.(map[string]any), "matchLabels")
			for _, m := range c.VolumeMounts {
				require.True(t, volumes[m.Name], m.Name)
			}
			if c.Image == image {
				commands++
				invoked(t, strings.Join(c.Args, " "))
				require.True(t, pod.Spec.SecurityContext.RunAsNonRoot)
			}
		}
	}
	require.Equal(t, map[string]int{"v1 ConfigMap": 1, "v1 Service": 3, "apps/v1 StatefulSet": 2, "apps/v1 Deployment": 2},
		kinds)
	require.Equal(t, 3, commands)
}

func TestTheScriptIsOneAndItsCommandsAreOurs(t *testing.T) {
	t.Parallel()
	path := filepath.Join(deployments, "weft.sbatch")
	said, err := exec.Command("bash", "-n", path).CombinedOutput()
	require.NoError(t, err, string(said))
	unit, err := os.ReadFile(filepath.Join(deployments, "weft-agent.service"))
	require.NoError(t, err)
	require.Contains(t, string(unit), "\nExecStart=/usr/bin/fabricd agent $AGENT_FLAGS\n")
	docs, err := os.ReadFile("../../docs/howto/cluster.md")
	require.NoError(t, err)
	script, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := regexp.MustCompile(
		`(?m)^(?:if |fabricd up|fabricd|.*until )? ?(?:\./)?fabricd ((?:agents?|up|down) [^;#>)&\n]*)`).FindAllStringSubmatch(
		strings.ReplaceAll(string(script)+string(docs), `"`, ""), -1)
	for _, l := range lines {
		invoked(t, strings.ReplaceAll(l[1], "${SLURM_CPUS_ON_NODE:-0}", "0"))
	}
	require.GreaterOrEqual(t, len(lines), 6)
}
