#!/usr/bin/env bash
# A proof that is killed, at random moments, leaves nothing beside the files that it
# writes, and goes on where it was: with the same bytes, and less time.
#
#   scripts/kill.sh MODEL INPUT [TIMES] [SEED]     needs bin/prove-model (make build)
#
# MODEL must be large enough for parts of its proof to be kept: 2^24 entries of the
# witness. Of every round it prints when the proof was killed, how many parts were left,
# and the processor seconds of the run that went on beside those of one from the start.
set -euo pipefail
cd "$(dirname "$0")/.."

model=$(realpath "$1") input=$(realpath "$2") times=${3:-50}
RANDOM=${4:-1}
bin=$PWD/bin/prove-model
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
TIMEFORMAT='%R %U %S'

# prove FOLDER [seconds]: runs in a folder of its own, killed after so long.
prove() {
	mkdir -p "$1"
	(cd "$1" && { time ${2:+timeout -s KILL "$2"} "$bin" --model "$model" --input "$input" --proof x.proof --vk x.vk --cache-dir "$work/cache" \
		--quiet --json >json; } 2>time)
}

prove first # fills the cache with the commitment
rm -rf first && prove first
read -r wall user system <<<"$(tail -1 first/time)"
echo "from the start: ${wall} s, processor $(awk "BEGIN { print $user + $system }") s"
for ((i = 1; i <= times; i++)); do
	rm -rf again
	after=$(awk "BEGIN { printf \"%.2f\", $wall * ($RANDOM % 1000) / 1000 }")
	if prove again "$after" 2>/dev/null; then
		left=done
	else
		left=$(find again -type f ! -name json ! -name time -printf '%f\n' | sort | tr '\n' ' ')
		if [ "$left" = "x.proof x.vk " ]; then # both files were written: they are compared below
			left="the proof was there"
		elif [ -n "$left" ]; then
			echo "kill: at $after s it left $left" >&2
			exit 1
		else
			prove again
		fi
	fi
	cmp first/x.proof again/x.proof
	cmp first/x.vk again/x.vk
	parts=$(sed -n 's/.*"resumed": \([0-9]*\).*/\1/p' again/json)
	read -r _ user system <<<"$(tail -1 again/time)"
	echo "killed at $after s: ${left:-${parts:-0} parts were left}, then processor $(awk "BEGIN { print $user + $system }") s"
done
if [ -n "$(find cache/work -mindepth 1 -print -quit 2>/dev/null)" ]; then
	echo "kill: results are left in the cache" >&2
	exit 1
fi
echo "killed $times times: the same bytes, and nothing is left"
