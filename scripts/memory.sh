#!/usr/bin/env bash
# Memory: what is said before proving beside what was taken, for models of folders with a
# network.onnx and an input.json; and bounds that hold.
#
#   scripts/memory.sh MODEL…            needs bin/prove-model (make build)
#   scripts/memory.sh --bound FILE.onnx GB [FLAGS…]
#
# The second proves on a random input with --memory-gb GB, or with what FLAGS say if GB is
# 0, and fails if the process had more: the most that the kernel has counted, pages of
# files included. With --chunk-budget-gb among the flags the weights and the model's files,
# as estimated, come on top. It also counts warnings.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$PWD/bin/prove-model
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

field() { sed -n "s/^ *\"$1\": \([0-9.]*\).*/\1/p" "$work/json" | tail -1; }
flags=(--cache-dir "$work/cache" --proof "$work/x.proof" --vk "$work/x.vk" --json)

if [ "${1:-}" = --bound ]; then
	model=$2 gb=$3
	shift 3
	budget=0
	for ((i = 1; i <= $#; i++)); do
		if [ "${!i}" = --chunk-budget-gb ]; then
			next=$((i + 1))
			budget=${!next}
		fi
	done
	if [ "$gb" != 0 ]; then
		set -- "$@" --memory-gb "$gb"
	fi
	"$bin" --model "$model" "${flags[@]}" "$@" >"$work/json" 2>"$work/err"
	cat "$work/err" >&2
	peak=$(sed -n 's/^  "peak_memory_bytes": \([0-9]*\).*/\1/p' "$work/json")
	awk -v peak="$peak" -v gb="$gb" -v budget="$budget" -v memory="$(field memory_bytes)" -v beside="$(field beside_weights_bytes)" \
		-v warnings="$(grep -c '^warning: ' "$work/err" || true)" 'BEGIN {
		most = gb > 0 ? gb * 2^30 : memory - beside + budget * 2^30
		printf "peak %.3f GB, and at most %.3f may be; %d warnings\n", peak / 2^30, most / 2^30, warnings
		exit peak > most
	}'
	exit
fi

worst=1
printf '%-28s %10s %10s %6s\n' model estimated taken ratio
for model in "$@"; do
	if ! "$bin" --model "$model/network.onnx" --input "$model/input.json" "${flags[@]}" --quiet >"$work/json" 2>"$work/err"; then
		echo "$(basename "$model"): $(tail -1 "$work/err")" >&2
		exit 1
	fi
	peak=$(sed -n 's/^  "peak_memory_bytes": \([0-9]*\).*/\1/p' "$work/json")
	ratio=$(awk "BEGIN { print $(field memory_bytes) / $peak }")
	awk "BEGIN { printf \"%-28s %7.1f MB %7.1f MB %6.2f\n\", \"$(basename "$model")\", $(field memory_bytes) / 1e6, $peak / 1e6, $ratio }"
	worst=$(awk "BEGIN { r = $ratio < 1 ? 1 / $ratio : $ratio; print (r > $worst ? r : $worst) }")
done
echo "within a factor of $worst"
awk "BEGIN { exit $worst > 2 }"
