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
GOOS=js GOARCH=wasm go vet ./prover/verifier/... ./prover/statement ./web/verdict ./web/wasm
# The verifier must not depend on float models or on any GPU code, and no file
# format is known but to its reader.
if GOOS=js GOARCH=wasm go list -deps ./prover/verifier/... ./prover/statement ./web/verdict ./web/wasm | grep -E '/(graph|onnx|kernels|nvrtc)(/|$)'; then
	echo "lint: the verifier depends on the packages above" >&2
	exit 1
fi
# Nor may certificates, which replay steps with package fixed alone.
if go list -deps ./prover/certify | grep -E '/(graph|quantise|quantise/(lower|weights|precision))$'; then
	echo "lint: certificates depend on the packages above" >&2
	exit 1
fi
if go list -deps ./graph/... ./quantise/... ./prover/... | grep -E '/onnx(/|$)'; then
	echo "lint: the model or the prover depends on the packages above" >&2
	exit 1
fi
# Who proves or verifies has no server: what that is made of would double the command and the
# time in which it starts.
if go list -deps ./cmd/prove-model | grep -E '^(github.com/(nats-io|minio|prometheus)|go.opentelemetry.io)/|/internal/serve(/(models|queue|traces))?$'; then
	echo "lint: the command depends on the packages above, of its server" >&2
	exit 1
fi
# Where methods are called by name, as text/template does, the linker keeps all: the programs
# would be a third larger.
for program in prove-model prove-model-server; do
	if go build -ldflags=-dumpdep -o /dev/null ./cmd/$program 2>&1 | grep -m 1 '<ReflectMethod>'; then
		echo "lint: $program calls methods by name, above" >&2
		exit 1
	fi
done
GOOS=windows go vet ./cmd/... ./internal/program
# The layers of the prover, from the bottom: none imports one that stands after it.
above=$(go list -f '{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}{{"\n"}}{{end}}' ./prover/... | awk '
	function layer(p) {
		if (p ~ /\/prover\/math\//) return 1
		if (p ~ /\/prover\/circuit\//) return 2
		if (p ~ /\/prover\/protocol\//) return 3
		if (p ~ /\/prover\/machine\//) return 4
		if (p ~ /\/prover\//) return 5
		return 0
	}
	layer($2) > layer($1)')
if [ -n "$above" ]; then
	echo "lint: these packages import a layer above their own:" >&2
	echo "$above" >&2
	exit 1
fi
# So with the layers of the GPU backend; sums and open do not import each other.
above=$(go list -f '{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}{{"\n"}}{{end}}' ./prover/machine/cuda/... | awk '
	function layer(p) {
		if (p ~ /\/cuda\/device$/) return 1
		if (p ~ /\/cuda\/run$/) return 2
		if (p ~ /\/cuda\/(sums|open)$/) return 3
		if (p ~ /\/cuda\/peers$/) return 4
		if (p ~ /\/machine\/cuda$/) return 5
		return 0
	}
	layer($2) > layer($1) || layer($2) == 3 && layer($1) == 3')
if [ -n "$above" ]; then
	echo "lint: these packages import a layer of the GPU backend beside or above their own:" >&2
	echo "$above" >&2
	exit 1
fi
# What makes keys must give the same bits on every architecture: no compiler may
# fuse a product of floats with a sum. (A conversion of the product forbids it;
# internal/elementary, which fuses on purpose, has a test of its own.)
makers='./graph ./onnx ./hf/... ./quantise ./quantise/fixed ./quantise/lower ./quantise/weights ./quantise/precision ./prover/circuit/matmul'
fused=$({ GOARCH=arm64 go build -gcflags=-S $makers; GOAMD64=v3 go build -gcflags=-S $makers; } 2>&1 |
	grep -E '\s(FN?M(ADD|SUB)D|VFN?M(ADD|SUB)[0-9]*SD)\s' | grep -v /internal/elementary/ | sed -E 's/^[^(]*\(([^)]*)\).*/\1/' | sort -u || true)
if [ -n "$fused" ]; then
	echo "lint: a product of floats is fused with a sum here; write float64(a*b) + c:" >&2
	echo "$fused" >&2
	exit 1
fi
scripts/kube.sh
echo "lint: clean"
