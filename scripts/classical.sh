#!/usr/bin/env bash
# Train scikit-learn, XGBoost and LightGBM models, convert them to ONNX, prove 1,000 rows
# of each in one proof, and compare with ONNX Runtime. Prints a table; fails where a class
# is another one, a number off by more than 0.1 % of its range, or the score of a class by
# more than 1 %.
#
#   scripts/classical.sh [NAME...]      names as in scripts/classical/make.py
#
# PYTHON names an interpreter that has the packages of scripts/classical/requirements.txt;
# without it one is made in dist/classical.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=dist/classical
. scripts/onnx-runtime.sh
interpreter scripts/classical/requirements.txt
rm -rf "$folder/models"
"$python" scripts/classical/make.py "$folder/models" "$@"
echo "| model | classes right | error | moved | prove cpu s | proof KB |"
echo "|---|---:|---:|---:|---:|---:|"
prove_all scripts/classical/compare.py npy
