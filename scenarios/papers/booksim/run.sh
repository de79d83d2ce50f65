#!/usr/bin/env bash
# Runs the load sweeps of this folder's networks in BookSim2 and writes a CSV, one row per run:
#
#   scenarios/papers/booksim/run.sh BOOKSIM_BINARY [OUT.csv] [NETWORK...]
#
# OUT.csv is docs/results/booksim.csv unless given; NETWORK is the name of a .cfg here, all of them unless given. A .cfg names its loads
# and its variants in comments, "// variant NAME [LOAD...]: OPTION=VALUE...", which without loads are run at all; "plain" is without
# options. Each is run with all SEEDS (1 2 3). What OUT.csv holds already is not run again, so that an interrupted run goes on
# where it was. A run that needs more than LIMIT seconds (300) is ended, and its row says "timeout"; one that says that nothing
# moved says "deadlock". One that ends without results has no row, and ends all with code 1. Loads are in shares of a link, latencies
# in cycles, accepted is packets per cycle of the whole network, and the last column counts packets times switches crossed per
# second of CPU time, start and warm-up included.
set -euo pipefail
shopt -s nullglob
export LC_ALL=C

if [[ $# -lt 1 || ! -x $1 ]]; then
	echo "usage: $0 BOOKSIM_BINARY [OUT.csv] [NETWORK...]: give the path of a BookSim2 that can be run" >&2
	exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
booksim=$(realpath "$1")
out=${2:-$here/../../../docs/results/booksim.csv}
limit=${LIMIT:-300}
read -ra seeds <<<"${SEEDS:-1 2 3}"
networks=("${@:3}")
if [[ ${#networks[@]} -eq 0 ]]; then
	for cfg in "$here"/*.cfg; do
		[[ $(basename "$cfg") == common.cfg ]] || networks+=("$(basename "$cfg" .cfg)")
	done
fi

header=network,variant,load,seed,status,accepted,latency,network_latency,hops,cycles,cpu_seconds,hops_per_cpu_second
[[ -s $out ]] || echo "$header" >"$out"
if [[ $(head -n 1 "$out") != "$header" ]]; then
	echo "$out has other columns than these runs: move it away" >&2
	exit 2
fi
log=$(mktemp) times=$(mktemp)
trap 'rm -f "$log" "$times"' EXIT

# one NETWORK VARIANT LOAD SEED NODES [OPTION=VALUE...] appends one row.
one() {
	local network=$1 variant=$2 load=$3 seed=$4 nodes=$5 status=ok code=0 cpu
	shift 5
	local key="$network,$variant,$load,$seed,"
	if grep -q "^${key//./\\.}" "$out"; then
		return
	fi
	TIMEFORMAT='%U'
	# It ends with a failure code when it has succeeded, so that only its output tells, or that its time was up.
	{ time timeout --kill-after=5 "$limit" "$booksim" "$here/common.cfg" "$here/$network.cfg" "$@" \
		injection_rate="$load" seed="$seed" >"$log" 2>&1 || code=$?; } 2>"$times"
	cpu=$(tail -n 1 "$times")
	if grep -q 'Possible network deadlock' "$log"; then
		status=deadlock
	elif [[ $code -eq 124 ]]; then
		status=timeout
	elif ! grep -q '^results:' "$log"; then
		echo "$booksim: $network $variant at $load gave no results and code $code; the end of what it said:" >&2
		tail -n 5 "$log" >&2
		exit 1
	fi
	awk -F, -v key="$key" -v nodes="$nodes" -v cpu="$cpu" -v status="$status" '
		/^Time taken is/ { split($0, words, " "); cycles = words[4] }
		/^results:/ { accepted = $21 * nodes; latency = $6; network = $9; hops = $NF }
		END {
			printf "%s%s,", key, status
			if (accepted == "") { printf ",,,,,%s,\n", cpu; exit }
			printf "%.4f,%s,%s,%s,%d,%s,%.0f\n", accepted, latency, network, hops, cycles, cpu, accepted * hops * cycles / (cpu + (cpu == 0))
		}' "$log" >>"$out"
	tail -n 1 "$out" >&2
}

for network in "${networks[@]}"; do
	cfg=$here/$network.cfg
	if [[ ! -f $cfg ]]; then
		echo "no network $network here: $(cd "$here" && echo *.cfg)" >&2
		exit 2
	fi
	nodes=$(sed -n 's,^// nodes: ,,p' "$cfg")
	read -ra loads < <(sed -n 's,^// loads: ,,p' "$cfg")
	while IFS= read -r line; do
		read -ra variant <<<"${line%%:*}"
		read -ra options <<<"${line#*:}"
		at=("${variant[@]:1}")
		[[ ${#at[@]} -gt 0 ]] || at=("${loads[@]}")
		for load in "${at[@]}"; do
			for seed in "${seeds[@]}"; do
				one "$network" "${variant[0]}" "$load" "$seed" "$nodes" ${options[@]+"${options[@]}"}
			done
		done
	done < <(echo plain: && sed -n 's,^// variant ,,p' "$cfg")
done
