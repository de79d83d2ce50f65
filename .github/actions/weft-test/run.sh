#!/usr/bin/env bash
# Runs scenarios and proofs as the inputs of action.yml say, in WEFT_* of the environment. It goes on after
# a failure, so that all results are there, and ends with 1 if one failed, with 2 if an input is wrong.
# macOS has bash 3.2: no mapfile, and an empty array is unset.
set -euo pipefail

out=${WEFT_OUT:?names the folder for results}
fabricd=${WEFT_FABRICD:?names the program fabricd}
say() { echo "$*" >&2; }
if ! command -v "$fabricd" >/dev/null; then
	say "weft-test: the input fabricd names $fabricd, which is no program"
	exit 2
fi
case ${WEFT_MODE:-virtual} in
virtual | live) mode=--${WEFT_MODE:-virtual} ;;
*)
	say "weft-test: the input mode is $WEFT_MODE: say virtual or live"
	exit 2
	;;
esac

files=()
for pattern in ${WEFT_SCENARIOS:-}; do # the shell fills patterns in; one without a file stays as it is
	if [ ! -f "$pattern" ]; then
		say "weft-test: no scenario matches $pattern of the input scenarios in $PWD"
		exit 2
	fi
	files+=("$pattern")
done
proofs=()
while IFS= read -r line; do
	case $line in *[![:space:]]*) proofs+=("$line") ;; esac
done <<<"${WEFT_PROOFS:-}"
if ((${#files[@]} + ${#proofs[@]} == 0)); then
	say "weft-test: neither the input scenarios nor proofs names anything to do"
	exit 2
fi

mkdir -p "$out/junit" "$out/reports" "$out/proofs"
worst=0
passed=0 failed=0
note() { # EXIT-CODE: counts a result
	if (($1 == 0)); then passed=$((passed + 1)); else failed=$((failed + 1)); fi
	if (($1 > worst)); then worst=$1; fi
}
escaped() { sed -e 's/&/\&amp;/g' -e 's/</\&lt;/g' -e 's/>/\&gt;/g' -e 's/"/\&quot;/g'; }

if ((${#files[@]} > 0)); then
	code=0
	"$fabricd" run "${files[@]}" "$mode" --junit "$out/junit/scenarios.xml" --report "$out/reports" || code=$?
	note $code
fi

n=0
cases=$out/proofs/cases.part
: >"$cases"
for proof in ${proofs[@]+"${proofs[@]}"}; do
	n=$((n + 1))
	echo "fabricd verify $proof"
	code=0
	# The words of a line are flags and values; none of them holds a space.
	set -f
	# shellcheck disable=SC2086
	"$fabricd" verify $proof --scenario "$out/proofs/$n.yaml" >"$out/proofs/$n.txt" 2>&1 || code=$?
	set +f
	cat "$out/proofs/$n.txt"
	note $code
	{
		printf '<testcase classname="verify" name="%s">' "$(escaped <<<"$proof")"
		if ((code > 0)); then printf '<failure>%s</failure>' "$(escaped <"$out/proofs/$n.txt")"; fi
		echo '</testcase>'
	} >>"$cases"
done
if ((n > 0)); then
	{
		echo '<?xml version="1.0" encoding="UTF-8"?>'
		echo "<testsuites><testsuite name=\"proofs\" tests=\"$n\" failures=\"$(grep -c '<failure>' "$cases" || true)\">"
		cat "$cases"
		echo '</testsuite></testsuites>'
	} >"$out/junit/proofs.xml"
fi
rm "$cases"

if [ -n "${GITHUB_OUTPUT:-}" ]; then printf 'junit=%s\nreports=%s\n' "$out/junit" "$out/reports" >>"$GITHUB_OUTPUT"; fi
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
	{
		echo "### Weft"
		if ((${#files[@]} > 0)); then echo "- ${#files[@]} scenario files, $mode"; fi
		for i in $(seq 1 $n); do echo "- proof $i: \`$(tail -1 "$out/proofs/$i.txt")\`"; done
	} >>"$GITHUB_STEP_SUMMARY"
fi
echo "weft-test: $passed steps passed, $failed failed; the results are in $out"
exit "$worst"
