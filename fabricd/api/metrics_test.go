package api

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
)

func TestMetricsAreThoseOfTheFabric(t *testing.T) {
	t.Parallel()
	x := serveWeb(t)
	x.Cut("s0.0", "s1.0")
	_, err := x.Fabric().Apply(t.Context(), everyVerb[3])
	require.NoError(t, err)
	x.Send("n01", "n00")
	x.RequireLedger()
	a := x.ask("GET", "/metrics", "", nil)
	require.Equal(t, 200, a.code, a.body)
	l := x.Fabric().Ledger()
	for _, line := range []string{
		`weft_links{state="cut"} 1`,
		`weft_waiting_seconds 0`,
		`weft_links{state="down"} 4`,
		`weft_switches{state="down"} 1`,
		`weft_link_up{link="s0.0-s1.0"} 0`,
		`weft_link_lost_packets_total{link="s0.0-s1.0"} 0`,
		`weft_link_queued_packets{direction="ba",link="s1.0-n00"} 0`,
		`weft_switch_rerouted_packets_total{switch="s1.0"} `,
		`weft_ledger_ended_packets_total{account="lost_wire"} `,
		`weft_link_up{link="s0.1-s1.0"} 1`,
		`weft_faults_total{kind="cut"} 1`,
		`weft_faults_open{kind="crash"} 1`,
		`weft_vc_queued_packets{queue="input",switch="s0.0",vc="0"} 0`,
		`weft_vc_stalls_total{reason="no_credit",switch="s0.0",vc="0"} `,
		`weft_nic_delivered_packets_total{nic="n00"} `,
		`weft_link_sent_packets_total{direction="ab",link="s1.0-n00"} `,
		`weft_latency_seconds{quantile="0.99"} `,
		"go_goroutines ",
	} {
		require.Contains(t, a.body, "\n"+line)
	}
	require.Equal(t, float64(l.Injected), sum(t, x, "weft_ledger_injected_packets_total"))
	require.Equal(t, float64(l.Delivered+l.Lost+l.Discarded), sum(t, x, "weft_ledger_ended_packets_total"))
	require.Equal(t, float64(l.Injected), sum(t, x, "weft_nic_injected_packets_total"))
	require.Equal(t, float64(l.Delivered), sum(t, x, "weft_nic_delivered_packets_total"))
	require.Zero(t, sum(t, x, "weft_ledger_in_flight_packets"))
	require.Equal(t, float64(x.Fabric().PacketHops()), sum(t, x, "weft_switch_forwarded_packets_total"))
}

func TestMetricsTellOfTheSubnetManager(t *testing.T) {
	t.Parallel()
	x := serveWeb(t)
	f := x.Fabric()
	f.HoldNICs()
	r := fabric.Round{
		Began: weft.Second, Computed: weft.Second + 3*weft.Millisecond,
		InForce: weft.Second + 10*weft.Millisecond,
	}
	f.Reconfigured(r)
	r.Static, r.Drain = true, 5*weft.Millisecond
	f.Reconfigured(r)
	r.Error = "a switch does not answer"
	f.Reconfigured(r)
	r.InForce = 0
	f.Reconfigured(r)
	a := x.ask("GET", "/metrics", "", nil)
	for _, line := range []string{
		`weft_reconfigurations_total{outcome="running"} 1`,
		`weft_reconfigurations_total{outcome="static"} 1`,
		`weft_reconfigurations_total{outcome="incomplete"} 1`,
		`weft_reconfigurations_total{outcome="failed"} 1`,
		`weft_reconfiguration_phase_seconds_bucket{phase="compute",le="0.002"} 0`,
		`weft_reconfiguration_phase_seconds_bucket{phase="compute",le="0.005"} 4`,
		`weft_reconfiguration_phase_seconds_count{phase="distribute"} 3`,
		`weft_reconfiguration_phase_seconds_sum{phase="distribute"} 0.011`,
		`weft_reconfiguration_phase_seconds_count{phase="drain"} 2`,
		`weft_reconfiguration_phase_seconds_sum{phase="drain"} 0.01`,
		`weft_reconfiguration_phase_seconds_count{phase="detect"} 0`,
		`weft_switch_table_version{switch="s0.0"} `,
		`weft_nics_held 1`,
	} {
		require.Contains(t, a.body, "\n"+line)
	}
	f.ResumeNICs()
	require.Contains(t, x.ask("GET", "/metrics", "", nil).body, "\nweft_nics_held 0")
}

// sum adds up all series of a metric.
func sum(t *testing.T, x *webbed, name string) (v float64) {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	require.NoError(t, reg.Register(metrics{x.web}))
	families, err := reg.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				v += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return v
}

func TestTheDashboardShowsMetricsThatThereAre(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../deploy/grafana/weft.json")
	require.NoError(t, err)
	require.True(t, json.Valid(data))
	known := map[string]bool{}
	for _, d := range described {
		name, _, _ := strings.Cut(strings.TrimPrefix(d.String(), `Desc{fqName: "`), `"`)
		known[name] = true
	}
	shown := map[string]bool{}
	for _, name := range regexp.MustCompile(`weft_[a-z_]+`).FindAllString(string(data), -1) {
		require.True(t, known[name], name)
		shown[name] = true
	}
	require.Greater(t, len(shown), 20)
}

func TestMetricsAreNamedAsTheyShouldBe(t *testing.T) {
	t.Parallel()
	x := serveWeb(t)
	problems, err := testutil.CollectAndLint(metrics{x.web})
	require.NoError(t, err)
	require.Empty(t, problems)
	for _, d := range described {
		require.True(t, strings.Contains(d.String(), "weft_"), d)
	}
}
