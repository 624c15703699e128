#!/usr/bin/env bash
# Export a language model with random weights by both exporters of torch, with attention as
# nanoGPT and as GPT-2 have it, prove the logits of 16 tokens, calibrated on others, and
# compare with ONNX Runtime. Prints a table; fails where a model is refused, a proof is not
# valid, or the logits are off by more than 0.5 % of their range.
#
#   scripts/exports.sh [SHAPE...]     nanogpt (10.7 million parameters) and gpt2 (124 million);
#                                     nanogpt alone where none is given
#
# PYTHON names an interpreter that has the packages of scripts/onnx/requirements.txt;
# without it one is made in dist/exports.
set -euo pipefail
cd "$(dirname "$0")/.."

root=dist/exports
folder=$root
. scripts/onnx-runtime.sh
interpreter scripts/onnx/requirements.txt
[ $# -gt 0 ] || set -- nanogpt
failed=0
for shape in "$@"; do
	folder=$root/$shape
	rm -rf "$folder"
	"$python" scripts/onnx/exports.py --shape "$shape" "$folder/models" >/dev/null 2>"$root/export.log" || { cat "$root/export.log"; exit 1; }
	echo "| $shape | parameters | error | quantise cpu s | prove cpu s | peak GB | proof KB |"
	echo "|---|---:|---:|---:|---:|---:|---:|"
	prove_all scripts/pypi/compare.py npz || failed=1
done
exit $failed
