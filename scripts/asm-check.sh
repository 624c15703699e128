#!/usr/bin/env bash
# The committed assembly is what the generators in scripts/asm give, and the
# generators pass vet and staticcheck. To generate it anew: make asm.
set -euo pipefail
cd "$(dirname "$0")/asm"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

go vet ./...
go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
for folder in math/{field,poseidon2,blake3,code,ints,bytedot} circuit/matmul; do
	package=${folder##*/} assembly=kernels_amd64.s stubs=kernels_amd64.go
	go run "./$package" -out "$work/$assembly" -stubs "$work/$stubs" -pkg "$package"
	for file in "$assembly" "$stubs"; do
		# The first line has the command that generated the file.
		if ! diff -q <(tail -n +2 "$work/$file") <(tail -n +2 "../../prover/$folder/$file") >/dev/null; then
			echo "asm-check: prover/$folder/$file is not what scripts/asm/$package generates; run make asm" >&2
			exit 1
		fi
	done
done
echo "asm-check: assembly is as generated"
