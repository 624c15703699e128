#!/usr/bin/env bash
# The benchmark history: the suite's results by commit, and how the working tree
# compares with one of them.
#
#   scripts/bench-history.sh record             run the suite, write docs/bench/COMMIT.txt
#   scripts/bench-history.sh compare [COMMIT]   run the suite at COMMIT (default: HEAD) and in the
#                                               working tree in turn, and compare with benchstat
#
# compare builds both sides first and lets them take turns, so that a shared machine's drift hits
# both; figures of different machines are never compared. BENCH_COUNT (default 6) is the number of turns.
set -euo pipefail
cd "$(dirname "$0")/.."
GO=${GO:-go}
export CGO_ENABLED=0

benchstat=golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
packages="prover/math/field prover/math/poseidon2 prover/math/code prover/circuit/matmul prover/math/merkle prover/protocol/sumcheck prover/protocol/logup prover/protocol/whir prover/prover"
pattern=${BENCH:-'^Benchmark(M31|QM31|PermuteMany|ColumnHasher|Encode|IntWide|IntRows|New|ProveEq|ProveMany|Prove|Verify|Opening|MLP256|MLP1024)$'}
count=${BENCH_COUNT:-6}

# build TREE DIR: the test binaries of a tree.
build() {
	for p in $packages; do
		(cd "$1" && "$GO" test -c -o "$2/$(basename "$p").test" "./$p")
	done
}

# turn TREE DIR: every benchmark once, from its package's folder.
turn() {
	for p in $packages; do
		(cd "$1/$p" && "$2/$(basename "$p").test" -test.run '^$' -test.bench "$pattern" -test.benchmem -test.benchtime "${BENCH_TIME:-0.3s}")
	done
}

work=$(mktemp -d)
trap 'git worktree remove --force "$work/tree" 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir "$work/new" "$work/old"

case "${1:-}" in
record)
	build . "$work/new"
	mkdir -p docs/bench
	file=docs/bench/$(git rev-parse --short HEAD).txt
	for _ in $(seq "$count"); do turn "$PWD" "$work/new"; done >"$work/new.txt"
	{
		echo "# $(git show -s --format='%cs %h %s'); $("$GO" version | cut -d' ' -f3), $(nproc) cores"
		cat "$work/new.txt"
	} >"$file"
	echo "bench-history: $file"
	;;
compare)
	commit=$(git rev-parse --verify "${2:-HEAD}^{commit}")
	git worktree add --quiet --detach "$work/tree" "$commit"
	build . "$work/new"
	build "$work/tree" "$work/old"
	for i in $(seq "$count"); do
		echo "bench-history: turn $i of $count" >&2
		turn "$work/tree" "$work/old" >>"$work/old.txt"
		turn "$PWD" "$work/new" >>"$work/new.txt"
	done
	"$GO" run "$benchstat" "before=$work/old.txt" "after=$work/new.txt"
	;;
*)
	sed -n '2,12s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
