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
mkdir -p "$folder"
python=${PYTHON:-$folder/venv/bin/python}
if [ -z "${PYTHON:-}" ] && [ ! -x "$python" ]; then
	python3 -m venv "$folder/venv"
	"$python" -m pip install --quiet -r scripts/classical/requirements.txt
fi
rm -rf "$folder/models"
"$python" scripts/classical/make.py "$folder/models" "$@"
CGO_ENABLED=0 go build -o "$folder/prove-model" ./cmd/prove-model
echo "| model | classes right | error | moved | prove cpu s | proof KB |"
echo "|---|---:|---:|---:|---:|---:|"
failed=0
for model in "$folder"/models/*.onnx; do
	base=${model%.onnx}
	if ! "$folder/prove-model" --model "$model" --input "$base.npy" --proof "$base.proof" --vk "$base.vk" --no-cache --json >"$base.json" 2>"$base.log"; then
		echo "| $(basename "$base") | refused: $(grep -v '^ ' "$base.log" | tail -1) | | | | |"
		failed=1
	elif ! "$folder/prove-model" verify --proof "$base.proof" --vk "$base.vk" --input "$base.npy" >/dev/null; then
		echo "$base: not valid"
		failed=1
	else
		"$python" scripts/classical/compare.py "$base.want.npz" "$base.json" || failed=1
	fi
done
exit $failed
