#!/usr/bin/env bash
# Compares the speed of Weft's virtual time with that of BookSim2: the same network, load, packet size and number of cycles, one thread
# each, in turn, so that what else the machine does hits both alike. Weft runs in two models: eager, each credit returned at once and every
# delay a cycle, as the comparison has it; and experiments, with which the figures of the papers were measured (docs/explanation/measure.md). It prints
# a table of medians and writes a CSV, one row per model and run beside the run of BookSim2 next to it:
#
#   scenarios/papers/booksim/speed.sh BOOKSIM_BINARY [OUT.csv] [RUNS]
#
# OUT.csv is docs/results/booksim-speed.csv unless given, RUNS is 3. Figures are packets times switches crossed per second of CPU time
# (user and system) of the whole process, start and warm-up included for both; the runs are so long that ours starts in less than 2% of
# them. SHORTER=20 makes them 20 times shorter, to try the script. Weft is built with the profile fabricd/speed.pgo, as
# `make build PGO=fabricd/speed.pgo` does, or with PROFILE=off without.
set -euo pipefail
export LC_ALL=C GOMAXPROCS=1

if [[ $# -lt 1 || ! -x $1 ]]; then
	echo "usage: $0 BOOKSIM_BINARY [OUT.csv] [RUNS]: give the path of a BookSim2 that can be run" >&2
	exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
booksim=$(realpath "$1")
out=$(realpath -m "${2:-$here/../../../docs/results/booksim-speed.csv}")
runs=${3:-3}
shorter=${SHORTER:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
profile=${PROFILE:-$here/../../../fabricd/speed.pgo}
[[ $profile == off ]] || profile=$(realpath "$profile")
(cd "$here" && GOMAXPROCS= go build -pgo="$profile" -o "$work/weft" ..)

# cpu COMMAND... runs it, its output in $work/log, and prints its user and system seconds.
cpu() {
	TIMEFORMAT='%U %S'
	# BookSim2 ends with a failure code when it has succeeded, so that only the output tells.
	{ time "$@" >"$work/log" 2>&1 || true; } 2>&1 | tail -n 1 | awk '{ print $1 + $2 }'
}

# hops NODES prints the packet-hops of what BookSim2 has run, from $work/log.
hops() {
	awk -F, -v nodes="$1" '
		/^Time taken is/ { split($0, words, " "); cycles = words[4] }
		/^results:/ { printf "%.0f", $21 * nodes * $NF * cycles }' "$work/log"
}

echo network,load,model,run,cycles,weft_hops,weft_cpu_seconds,weft_hops_per_cpu_second,booksim_hops,booksim_cpu_seconds,booksim_hops_per_cpu_second >"$out"
# compare NETWORK LOAD RUN NODES PERIOD runs ours and theirs for five periods.
compare() {
	local network=$1 load=$2 run=$3 nodes=$4 period=$5 theirs theirs_hops ours ours_hops cycles model
	theirs=$(cpu "$booksim" "$here/common.cfg" "$here/$network.cfg" sample_period="$period" injection_rate="$load" seed="$run")
	if ! grep -q '^results:' "$work/log"; then
		echo "BookSim2 failed on $network at $load; the end of what it said:" >&2
		tail -n 5 "$work/log" >&2
		exit 1
	fi
	theirs_hops=$(hops "$nodes")
	for model in eager experiments; do
		ours=$(cpu "$work/weft" booksim-speed "$network" "$load" $((5 * period)) "$model")
		if ! read -r ours_hops cycles _ <"$work/log" || [[ ! $ours_hops =~ ^[0-9]+$ ]]; then
			echo "Weft failed on $network at $load: $(cat "$work/log")" >&2
			exit 1
		fi
		awk -v OFS=, -v n="$network" -v l="$load" -v m="$model" -v r="$run" -v c="$cycles" -v oh="$ours_hops" -v oc="$ours" -v th="$theirs_hops" -v tc="$theirs" \
			'BEGIN { print n, l, m, r, c, oh, oc, sprintf("%.0f", oh / oc), th, tc, sprintf("%.0f", th / tc) }' >>"$out"
		tail -n 1 "$out" >&2
	done
}

for run in $(seq "$runs"); do
	while read -r network load period; do
		compare "$network" "$load" "$run" "$(sed -n 's,^// nodes: ,,p' "$here/$network.cfg")" $((period / shorter))
	done <<-END
		fattree64 0.1 20000
		fattree64 1.0 10000
		mesh64 0.1 20000
		mesh64 0.25 10000
		torus512 0.1 2000
		torus512 0.3 1000
	END
done

echo "Packet-hops per CPU-second in millions, medians of $runs runs; of the ratio the lowest and the highest too."
echo
echo "| network | load | cycles | model | Weft | BookSim2 | ratio |"
echo "|---|---|---|---|---|---|---|"
awk -F, '
	function sort(list, n,   i, j, t) {
		for (i = 2; i <= n; i++) for (j = i; j > 1 && list[j-1] + 0 > list[j] + 0; j--) { t = list[j]; list[j] = list[j-1]; list[j-1] = t }
	}
	function median(list, n) {
		sort(list, n)
		return n % 2 ? list[(n+1)/2] : (list[n/2] + list[n/2+1]) / 2
	}
	NR > 1 {
		key = $1 " | " $2 " | " $5 " | " $3
		if (!(key in count)) order[++keys] = key
		i = ++count[key]
		ours[key, i] = $8; theirs[key, i] = $11; ratio[key, i] = $8 / $11
	}
	END {
		for (k = 1; k <= keys; k++) {
			key = order[k]; n = count[key]
			for (i = 1; i <= n; i++) { a[i] = ours[key, i]; b[i] = theirs[key, i]; c[i] = ratio[key, i] }
			middle = median(c, n)
			printf "| %s | %.2f | %.2f | **%.1f** (%.1f to %.1f) |\n", key, median(a, n) / 1e6, median(b, n) / 1e6, middle, c[1], c[n]
		}
	}' "$out"
