#!/usr/bin/env bash
# Prove and verify every model in a folder of folders with a network.onnx and
# an input.json each, and print a table: model, parameters, prove s, verify ms,
# proof KB, max error. Fails when a model does not prove or verify, or when its
# quantised output strays from the float one.
#
#   scripts/models.sh [folder]     default: $PROVE_MODEL_MODELS or ../shared/models
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:-${PROVE_MODEL_MODELS:-../shared/models}}
if [ ! -d "$folder" ]; then
	echo "models: SKIPPED, there is no folder $folder"
	exit 0
fi
[ -x bin/prove-model ] || make build
exec bin/prove-model bench model --max-error 0.01 --min-cosine 0.999 "$folder"/*/
