#!/usr/bin/env bash
# The committed assembly is what the generators in scripts/asm give, and the
# generators pass vet and staticcheck. To generate it anew: make asm.
set -euo pipefail
cd "$(dirname "$0")/asm"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

go vet ./...
go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
while read -r package assembly stubs; do
	go run "./$package" -out "$work/$assembly" -stubs "$work/$stubs" -pkg "$package"
	for file in "$assembly" "$stubs"; do
		# The first line has the command that generated the file.
		if ! diff -q <(tail -n +2 "$work/$file") <(tail -n +2 "../../prover/$package/$file") >/dev/null; then
			echo "asm-check: prover/$package/$file is not what scripts/asm/$package generates; run make asm" >&2
			exit 1
		fi
	done
done <<-END
	field kernels_amd64.s kernels_amd64.go
	poseidon2 kernels_amd64.s kernels_amd64.go
	code layers_amd64.s layers_stubs_amd64.go
	matmul kernels_amd64.s kernels_amd64.go
	ints kernels_amd64.s kernels_amd64.go
	bytedot kernels_amd64.s kernels_amd64.go
END
echo "asm-check: assembly is as generated"
