#!/usr/bin/env bash
# Make the models with real weights (make.py), quantise each on its calibration
# samples, and hold the integer model against the float one on samples that
# calibration has not seen. Fails when a model misses one of its bars.
#
#   scripts/accuracy/run.sh [model…]     default: minilm smollm2 ocr vit
#
# Packages and models are kept in $PROVE_MODEL_ACCURACY, .cache/accuracy unless
# that is set (about 2 GB); PYTHON names the interpreter, MODE the mode.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=${PROVE_MODEL_ACCURACY:-.cache/accuracy}
pins=scripts/accuracy/requirements.txt
models=("$@")
[ ${#models[@]} -gt 0 ] || models=(minilm smollm2 ocr vit)
mkdir -p "$folder"
if ! cmp -s "$pins" "$folder/venv/requirements.txt"; then
	"${PYTHON:-python3}" -m venv "$folder/venv"
	"$folder/venv/bin/pip" install --quiet --no-deps -r "$pins"
	cp "$pins" "$folder/venv/requirements.txt"
fi
for m in "${models[@]}"; do
	if [ ! -f "$folder/$m/made" ] || [ scripts/accuracy/make.py -nt "$folder/$m/made" ]; then
		"$folder/venv/bin/python" scripts/accuracy/make.py "$folder" "$m"
		touch "$folder/$m/made"
	fi
done
[ -x bin/prove-model ] || make build
exec bin/prove-model bench accuracy --mode "${MODE:-auto}" "${models[@]/#/$folder/}"
