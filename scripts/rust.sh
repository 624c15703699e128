#!/usr/bin/env bash
# The third verifier, in Rust (rust/): its format, lints and tests, what C and WebAssembly make of it, its run on a
# simulated RISC-V machine, and the verdicts that it and the command give on golden files, on keys of altered structure
# and on altered files.
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

# missing WHAT: fails in CI, and says elsewhere what is left out for it.
missing() {
	echo "rust: no $1"
	if [ "${CI:-}" = true ]; then
		exit 1
	fi
	echo "rust: $2 SKIPPED"
}
if ! command -v cargo >/dev/null; then
	missing "cargo: see https://rustup.rs, or install Rust 1.85 or later" everything
	exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
golden=$PWD/testdata/golden/digits

cd rust
for tool in fmt clippy; do
	if ! cargo "$tool" --version >/dev/null 2>&1; then
		missing "cargo $tool: rustup component add rustfmt clippy" "$tool"
	elif [ "$tool" = fmt ]; then
		cargo fmt --check
	else
		cargo clippy --quiet --locked --all-targets -- -D warnings
	fi
done
cargo test --quiet --locked
cargo build --quiet --locked --release

# same WHAT FILE: what C and WebAssembly say of the digits, which is the same.
said='logits: 10 numbers, the first is 16.2362'
same() {
	if [ "$(cat "$2")" != "$said" ]; then
		echo "rust: $1 says: $(cat "$2")" >&2
		exit 1
	fi
}
if command -v cc >/dev/null; then
	cc -std=c11 -O1 -Wall -Wextra -Werror -Iffi/include ffi/tests/verify.c target/release/libprove_model.a -lpthread -ldl -lm -o "$work/verify"
	"$work/verify" "$golden/key.vk" "$golden/run.proof" >"$work/c"
	same C "$work/c"
	if "$work/verify" "$golden/key.vk" "$golden/key.vk" >"$work/c"; then
		echo "rust: C takes a key for a proof" >&2
		exit 1
	fi
else
	missing "C compiler" "C"
fi

# there TARGET: whether the target's standard library is installed, or can be: rustup fetches it. Where it cannot, what it is
# for is left out, with CI=true too.
there() {
	[ -d "$(rustc --print sysroot)/lib/rustlib/$1" ] || { command -v rustup && rustup target add "$1"; } >/dev/null 2>&1 && return
	echo "rust: no $1: rustup target add $1" >&2
	echo "rust: $1 SKIPPED" >&2
	return 1
}
if there wasm32-unknown-unknown; then
	cargo build --quiet --locked --release --package prove-model-ffi --target wasm32-unknown-unknown
	module=target/wasm32-unknown-unknown/release/prove_model.wasm
	size=$(gzip -9 -c "$module" | wc -c)
	echo "rust: WebAssembly of $size bytes, compressed"
	if [ "$size" -gt 400000 ]; then
		echo "rust: that is more than 400000" >&2
		exit 1
	fi
	if command -v node >/dev/null; then
		node ffi/tests/verify.mjs "$module" "$golden/key.vk" "$golden/run.proof" >"$work/wasm"
		same WebAssembly "$work/wasm"
	else
		missing "node" "WebAssembly's test"
	fi
fi
if there riscv32im-unknown-none-elf; then
	cargo build --quiet --locked --release --package guest --target riscv32im-unknown-none-elf
	guest=target/riscv32im-unknown-none-elf/release/guest
	target/release/cycles "$guest" "$golden/key.vk" "$golden/run.proof"
	if target/release/cycles "$guest" "$golden/key.vk" ../testdata/golden/linear/run.proof 2>"$work/refused"; then
		echo "rust: the guest takes another key's proof" >&2
		exit 1
	fi
fi
cd ..
go run ./scripts/mutants -count "$keys" -altered "$altered" -seed "$seed" -judge rust/target/release/judge
