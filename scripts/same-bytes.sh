#!/usr/bin/env bash
# Proves one model on the processor and on GPUs, with other lanes, budgets and numbers of
# GPUs, and compares keys and proofs byte for byte:
#   scripts/same-bytes.sh --model x.onnx --input x.json
#   scripts/same-bytes.sh --model FOLDER --tokens-file ids.json
# VARIANTS has settings to compare, one a line, in place of those for this machine's GPUs;
# PROVE_MODEL is the program. Fails at the first difference.
set -euo pipefail
pm=${PROVE_MODEL:-bin/prove-model}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ -z "${VARIANTS:-}" ]; then
	VARIANTS="--gpu=require --gpu-threshold 0
--gpu=require --gpu-streams 1
--gpu=require --gpu-streams 8
--gpu=require --chunk-budget-gb 0.5
--gpu=require --chunk-budget-gb 8
--gpu=require --chunk-budget-gb 64"
	gpus=$("$pm" devices --json | grep -c '"uuid"') || gpus=0
	for ((n = 2; n <= gpus; n *= 2)); do
		VARIANTS+="
--gpu=require --devices $(seq -s, 0 $((n - 1))) --gpu-threshold 0"
	done
fi
prove() { # NAME SETTING…
	local name=$1
	shift
	"$pm" "${args[@]}" "$@" --proof "$dir/$name.proof" --vk "$dir/$name.vk" --cache-dir "$dir/cache-$name" --no-resume --quiet >"$dir/log" 2>&1 || {
		cat "$dir/log" >&2
		return 1
	}
	rm -rf "$dir/cache-$name"
}
args=("$@")
prove cpu --gpu=off --ranges-out "$dir/ranges"
n=0
while read -r setting; do
	# shellcheck disable=SC2086 # several words
	prove other $setting --ranges "$dir/ranges"
	for file in proof vk; do
		cmp "$dir/cpu.$file" "$dir/other.$file" || {
			echo "$file differs with $setting" >&2
			exit 1
		}
	done
	n=$((n + 1))
done <<<"$VARIANTS"
echo "$*: $(stat -c %s "$dir/cpu.proof") bytes of proof, the same with $n settings"
