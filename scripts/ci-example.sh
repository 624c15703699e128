#!/usr/bin/env bash
# An example for the pipelines of others: a model's key is made once and kept; every
# run is proved, and whoever gets proof and key checks them against the commitment.
#
#   scripts/ci-example.sh MODEL CALIBRATION INPUT FOLDER
#
#   MODEL        ONNX file
#   CALIBRATION  samples that set the ranges: JSON, .npy or .npz
#   INPUT        what to prove
#   FOLDER       for model.vk, model.commitment and model.ranges.json, which are kept
#                with the model, and for run.proof, run.json and run.html
#
# $MAX_ERROR is the most that an output may be off the float model, as a fraction of
# its range (default 0.01). Exit codes are the command's: 1 a proof or a key that does
# not hold, 2 usage, 3 too far from the float model. Needs prove-model and jq.
set -euo pipefail

if [ $# -ne 4 ]; then
	sed -n '5,11s/^# \{0,2\}//p' "$0" >&2
	exit 2
fi
model=$1 calibration=$2 input=$3 folder=$4
key=$folder/model.vk ranges=$folder/model.ranges.json
pm=${PROVE_MODEL:-prove-model}
mkdir -p "$folder"

# Once: the ranges, the key, and the commitment that is published with the model.
if [ ! -e "$key" ]; then
	"$pm" commit --model "$model" --calibration "$calibration" --ranges-out "$ranges" --vk "$key" --no-cache --quiet --json |
		jq -r .model_commitment >"$folder/model.commitment"
fi
commitment=$(cat "$folder/model.commitment")

# The key must be this model's. (A changed model needs a new key: remove the old one.)
"$pm" check-key --model "$model" --vk "$key" --quiet

# Prove. Files appear only if all went well.
"$pm" --model "$model" --ranges "$ranges" --input "$input" --max-error "${MAX_ERROR:-0.01}" --no-cache --quiet --json \
	--proof "$folder/run.proof" --vk "$folder/run.vk" --report "$folder/run.html" >"$folder/run.json"
cmp "$key" "$folder/run.vk"
rm "$folder/run.vk"

# Verify, as others do: with the proof, the key, and the commitment from the publisher.
"$pm" verify --proof "$folder/run.proof" --vk "$key" --input "$input" --commitment "$commitment"
jq -r '.outputs[] | "\(.name): off by \(.range_error * 100) % of the range"' "$folder/run.json"
