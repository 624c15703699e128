#!/usr/bin/env bash
# gofmt, vet, staticcheck, and builds that must keep working: without cgo,
# without assembly, for another architecture, and the verifier for js/wasm.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0

unformatted=$(git ls-files '*.go' | xargs gofmt -l)
if [ -n "$unformatted" ]; then
	echo "lint: not formatted by gofmt:" >&2
	echo "$unformatted" >&2
	exit 1
fi
go vet ./...
go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
go build -o /dev/null ./...
go vet -tags purego ./...
GOARCH=arm64 go vet ./...
GOOS=js GOARCH=wasm go build -o /dev/null ./prover/verifier/...
# The verifier must not depend on float models or on any GPU code, and no file
# format is known but to its reader.
if go list -deps ./prover/verifier/... | grep -E '/(graph|onnx|kernels|nvrtc)(/|$)'; then
	echo "lint: the verifier depends on the packages above" >&2
	exit 1
fi
if go list -deps ./graph/... ./prover/... | grep -E '/onnx(/|$)'; then
	echo "lint: the model or the prover depends on the packages above" >&2
	exit 1
fi
# What makes keys must give the same bits on every architecture: no compiler may
# fuse a product of floats with a sum. (A conversion of the product forbids it;
# internal/elementary, which fuses on purpose, has a test of its own.)
makers='./graph ./onnx ./hf/... ./prover/quantise ./prover/matmul'
fused=$({ GOARCH=arm64 go build -gcflags=-S $makers; GOAMD64=v3 go build -gcflags=-S $makers; } 2>&1 |
	grep -E '\s(FN?M(ADD|SUB)D|VFN?M(ADD|SUB)[0-9]*SD)\s' | grep -v /internal/elementary/ | sed -E 's/^[^(]*\(([^)]*)\).*/\1/' | sort -u || true)
if [ -n "$fused" ]; then
	echo "lint: a product of floats is fused with a sum here; write float64(a*b) + c:" >&2
	echo "$fused" >&2
	exit 1
fi
echo "lint: clean"
