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
go generate ./internal/serve # the verifier of the server's page
go build -o "$work" ./cmd/prove-model ./cmd/prove-model-server
# Proofs of the command, with their reports: of a picture, and of a text whose tokens are
# the likeliest, or drawn.
cp -r testdata/digits "$work/files/digits"
run() {
	mkdir -p "$work/files/$1"
	(cd "$work/files" && "$work/prove-model" --no-cache --quiet --proof "$1/run.proof" --vk "$1/key.vk" --report "$1/report.html" "${@:2}" >/dev/null)
}
run digit --model digits/digits.onnx --input digits/input.json --calibration digits/calibration.json
text=(--model story/model --prompt "The capital of France is" --max-tokens 12 --mode exact)
run story "${text[@]}"
run drawn "${text[@]}" --seed 20 --temperature 1.5 --top-k 5
export PROVE_MODEL_WEB=$work PROVE_MODEL_FILES=$work/files PROVE_MODEL_COMMAND=$work/prove-model
if command -v node >/dev/null; then
	npm install --silent --no-audit --no-fund --prefix "$work/client" openai@7.57.0 # whose requests the server must answer
	PROVE_MODEL_CLIENT=$work/client node --test web/npm/test/*.mjs
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
