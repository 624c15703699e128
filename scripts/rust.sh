#!/usr/bin/env bash
# The third verifier, in Rust (rust/): its format, lints and tests, its builds for machines without an operating system,
# and the verdicts that it and the command give on golden files, on keys of altered structure and on altered files.
#
#   scripts/rust.sh [--keys N] [--altered N] [--seed N]     default: 100 keys, 2000 altered files
set -euo pipefail
cd "$(dirname "$0")/.."

keys=100 altered=2000 seed=1
while [ $# -gt 0 ]; do
	case "$1" in
	--keys) keys=$2 ;;
	--altered) altered=$2 ;;
	--seed) seed=$2 ;;
	*)
		echo "usage: scripts/rust.sh [--keys N] [--altered N] [--seed N]" >&2
		exit 2
		;;
	esac
	shift 2
done

# skip WHAT: it is missing, which is a failure in CI.
skip() {
	echo "rust: $1"
	if [ "${CI:-}" = true ]; then
		exit 1
	fi
	echo "rust: SKIPPED"
	exit 0
}
command -v cargo >/dev/null || skip "no cargo: see https://rustup.rs, or install Rust 1.85 or later"
for tool in fmt clippy; do
	cargo "$tool" --version >/dev/null 2>&1 || skip "no cargo $tool: rustup component add rustfmt clippy"
done

cd rust
cargo fmt --check
cargo clippy --quiet --locked --all-targets -- -D warnings
cargo test --quiet --locked
cargo build --quiet --locked --release --package judge
for target in wasm32-unknown-unknown riscv32im-unknown-none-elf; do
	if [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then
		cargo build --quiet --locked --release --package prove-model-verifier --target "$target"
		echo "rust: built for $target"
	else
		echo "rust: $target SKIPPED: rustup target add $target"
	fi
done
cd ..
go run ./scripts/mutants -count "$keys" -altered "$altered" -seed "$seed" -judge rust/target/release/judge
