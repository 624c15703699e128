#!/usr/bin/env bash
# Throughput beside Plonky3's crates, as the Markdown table of
# docs/benchmarks.md, "Against Plonky3": on one core, and Merkle trees on all
# cores as well. Needs Go, Rust and, the first time, crates.io. Both sides run in
# turns, ROUNDS times (default 3), each many times for 3 ms; the best counts, as
# other work on the machine only slows one down. The FFT's turns are longer, and
# measured in processor time, and so are trees on one core; those on all cores
# take 20 ms or more, and want a machine that does nothing else. With trees as the
# argument there are the trees alone.
set -euo pipefail
cd "$(dirname "$0")"
rounds=${ROUNDS:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

RUSTFLAGS="-C target-cpu=native" cargo build --release --quiet --target-dir target/avx512
RUSTFLAGS="-C target-feature=+avx2,+bmi2,+fma" cargo build --release --quiet --target-dir target/avx2
for package in field poseidon2 code merkle; do
	(cd ../.. && go test -c -o "$work/$package.test" "./prover/math/$package")
done

# ours LEVEL prints "name<TAB>millions a second" from the Go benchmarks.
ours() {
	for run in 'field M31/(Add|Mul)Vec$' 'poseidon2 Block$|Permute$'; do
		PROVE_MODEL_ASM=$1 GOMAXPROCS=1 "$work/${run%% *}.test" -test.run '^$' -test.bench "${run#* }" \
			-test.benchtime 3ms -test.count 100
	done | awk '
		function rate(unit,  i) { for (i = 3; i < NF; i++) if ($(i + 1) == unit) return $i }
		$1 ~ /^BenchmarkM31\/AddVec/ { print "M31 add\t" rate("Melem/s") }
		$1 ~ /^BenchmarkM31\/MulVec/ { print "M31 mul\t" rate("Melem/s") }
		$1 ~ /^BenchmarkBlock/       { print "Poseidon2 width 16\t" rate("Mperm/s") }
		$1 ~ /^BenchmarkPermute/     { print "Poseidon2 width 16, one state\t" 1000 / rate("ns/op") }'
	PROVE_MODEL_ASM=$1 GOMAXPROCS=1 "$work/code.test" -test.run '^$' -test.bench 'Columns$' \
		-test.benchtime 1x -test.count 3 | awk '
		function rate(unit,  i) { for (i = 3; i < NF; i++) if ($(i + 1) == unit) return $i }
		split($1, k, /[\/x]/) == 3 { print "Circle FFT, " k[2] " points, " k[3] " columns\t" rate("Melem/cpu-s") }'
}

# ours_trees LEVEL CORES prints the same of Merkle trees.
ours_trees() {
	local unit=Melem/s
	[ "$2" -gt 1 ] || unit=Melem/cpu-s
	PROVE_MODEL_ASM=$1 GOMAXPROCS=$2 "$work/merkle.test" -test.run '^$' -test.bench Matrix -test.benchtime 1x -test.count 10 | awk -v unit=$unit '
		function rate(unit,  i) { for (i = 3; i < NF; i++) if ($(i + 1) == unit) return $i }
		$1 ~ /^BenchmarkMatrix\/blake3/    { print "Merkle tree, BLAKE3\t" rate(unit) }
		$1 ~ /^BenchmarkMatrix\/poseidon2/ { print "Merkle tree, Poseidon2\t" rate(unit) }'
}

# trees prints those of both sides, with the number of cores behind a name.
trees() {
	for cores in 1 "$(nproc)"; do
		RAYON_NUM_THREADS=$cores "target/$1/release/plonky3-bench" trees | sed "s/^/$1\tplonky3\t/; s/\t\([0-9.]*\)$/, $cores cores\t\1/"
		ours_trees "$1" "$cores" | sed "s/^/$1\tours\t/; s/\t\([0-9.]*\)$/, $cores cores\t\1/"
	done
}

# glibc keeps freed memory, so that the library's twiddles do not cost page faults.
export MALLOC_MMAP_THRESHOLD_=4000000000 MALLOC_TRIM_THRESHOLD_=8000000000
for level in avx512 avx2; do
	for _ in $(seq "$rounds"); do
		if [ "${1:-}" != trees ]; then
			"target/$level/release/plonky3-bench" | sed "s/^/$level\tplonky3\t/"
			ours "$level" | sed "s/^/$level\tours\t/"
		fi
		trees "$level"
	done
done >"$work/all"

awk -F'\t' '
	{ if (!(($1, $3) in seen)) { seen[$1, $3] = 1; order[++n] = $1 FS $3 } }
	{ if ($4 + 0 > best[$1, $3, $2]) best[$1, $3, $2] = $4 + 0 }
	END {
		print "| millions a second | instructions | prove-model | Plonky3 | ratio |"
		print "|---|---|---:|---:|---:|"
		for (i = 1; i <= n; i++) {
			split(order[i], k, FS)
			a = best[k[1], k[2], "ours"]; b = best[k[1], k[2], "plonky3"]
			printf "| %s | %s | %.2f | %.2f | %.2f |\n", k[2], k[1], a, b, b ? a / b : 0
		}
	}' "$work/all"
