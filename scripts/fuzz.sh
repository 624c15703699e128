#!/usr/bin/env bash
# Every fuzz target in turn, FUZZ_SECONDS (default 150) in all and at most ten
# seconds each; then FUZZ_KEYS (default 100) keys of altered structure, of which
# both verifiers must say the same.
# A longer hunt: FUZZ_SECONDS=36000 FUZZ_EACH=3600 FUZZ_KEYS=4000 scripts/fuzz.sh
set -euo pipefail
cd "$(dirname "$0")/.."

# "package target" pairs, from the test sources' own listing.
targets=$(go test -list '^Fuzz' ./... | awk '/^Fuzz/ { names[++n] = $1 } /^ok/ { for (i = 1; i <= n; i++) print $2, names[i] } !/^Fuzz/ { n = 0 }')
if [ -z "$targets" ]; then
	echo "fuzz: no targets found" >&2
	exit 1
fi
count=$(wc -l <<<"$targets")
each=$((${FUZZ_SECONDS:-150} / count))
most=${FUZZ_EACH:-10}
each=$((each > most ? most : each < 1 ? 1 : each))

log=$(mktemp)
trap 'rm -f "$log"' EXIT
while read -r package target; do
	echo "fuzz: $target in $package, $each s"
	status=0
	# By default an input that reaches new code is made smaller for up to a minute, in which a
	# worker does nothing else: most of the time that there is.
	go test -run '^$' -fuzz "^$target\$" -fuzztime "${each}s" -fuzzminimizetime 20x "$package" 2>&1 | tee "$log" || status=$?
	# When its time ends while a worker is between two inputs, go test may report
	# the end itself as the failure (go.dev/issue/75804). A crash, a failed input,
	# or a worker that hangs says more than that.
	if [ "$status" -ne 0 ]; then
		if [ "$(grep -c '^    ' "$log")" -eq 1 ] && grep -q '^    context deadline exceeded$' "$log" &&
			! grep -q 'Failing input written\|panic:' "$log"; then
			echo "fuzz: $target ended at its time without a failing input"
			continue
		fi
		exit "$status"
	fi
done <<<"$targets"

if command -v python3 >/dev/null; then
	scripts/verify-mutants.py --count "${FUZZ_KEYS:-100}" --seed "$RANDOM"
elif [ "${CI:-}" = true ]; then
	echo "fuzz: no python3" >&2
	exit 1
else
	echo "fuzz: altered keys SKIPPED, there is no python3"
fi
