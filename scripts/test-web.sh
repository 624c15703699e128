#!/usr/bin/env bash
# Builds the web verifier and tests it: the npm package in Node, the page in a
# headless Chromium.
#
#   scripts/test-web.sh [FOLDER FOR SCREENSHOTS]
#
# Chromium is installed if there is none and it may be (scripts/chromium.sh). With
# CI=true it is a failure if Node or Chromium is not there.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() {
	echo "test-web: $1 SKIPPED: there is no $2" >&2
	[ "${CI:-}" != true ] || exit 1
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go run ./web/build -o "$work"
go run ./web/testfiles "$work/files"
go build -o "$work/prove-model" ./cmd/prove-model
"$work/prove-model" --model testdata/digits/digits.onnx --input testdata/digits/input.json --calibration testdata/digits/calibration.json \
	--no-cache --quiet --proof "$work/x.proof" --vk "$work/x.vk" --report "$work/files/report.html" >/dev/null
export PROVE_MODEL_WEB=$work PROVE_MODEL_FILES=$work/files PROVE_MODEL_COMMAND=$work/prove-model
if command -v node >/dev/null; then
	node --test web/npm/test/*.mjs
else
	skip "the npm package" Node
fi
if scripts/chromium.sh >"$work/chromium"; then
	if [ -n "${1:-}" ]; then
		mkdir -p "$1"
		PROVE_MODEL_SHOTS=$(cd "$1" && pwd)
		export PROVE_MODEL_SHOTS
	fi
	(cd web/chromium && GOFLAGS='' go vet . && GOFLAGS='' go test -count=1 -v .)
else
	skip "the page and reports" Chromium
fi
