#!/usr/bin/env bash
# Draw small graphs of one to three operators on tensors of all types, with inputs at the ends
# of the types, and compare their circuits with ONNX Runtime (scripts/nodetests/draw.py). It
# fails where a result is off without a warning or a refusal.
#
#   scripts/drawn.sh [COUNT [SEED]]      default: 2000 graphs of seed 1
#
# PYTHON names an interpreter that has onnx and onnxruntime; without it one is made in dist/drawn.
set -euo pipefail
cd "$(dirname "$0")/.."

count=${1:-2000} seed=${2:-1}
folder=dist/drawn
mkdir -p "$folder"
python=${PYTHON:-$folder/venv/bin/python}
if [ -z "${PYTHON:-}" ] && [ ! -x "$python" ]; then
	python3 -m venv "$folder/venv"
	"$python" -m pip install --quiet onnx==1.23.2 onnxruntime==1.32.0 numpy
fi
rm -rf "$folder/data"
"$python" scripts/nodetests/draw.py "$folder/data" "$count" "$seed"
CGO_ENABLED=0 go build -o "$folder/nodetests" ./scripts/nodetests
"$folder/nodetests" -data "$folder/data" -drawn -prove 0
PROVE_MODEL_PYTHON=$(realpath -s "$python") go test -count=1 ./internal/onnxruntime
