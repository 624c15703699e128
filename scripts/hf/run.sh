#!/usr/bin/env bash
# Hold the families of language models, encoders and vision transformers against
# transformers, and the tokenizers against the reference libraries: makes tiny
# models with large outliers (families.py --outliers), calibrates each on other
# inputs, and prints for every family the worst of the seeds. Fails where a model
# or a tokenizer is off.
#
#   scripts/hf/run.sh [seed…]     default: 11 12 13
#
# Packages, models and logs are in dist/hf; PYTHON names an interpreter that has
# the packages of requirements.txt. LINES is the number of lines for the tokenizers.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=$PWD/dist/hf
. scripts/onnx-runtime.sh
interpreter scripts/hf/requirements.txt
seeds=("$@")
[ ${#seeds[@]} -gt 0 ] || seeds=(11 12 13)

failed=0
logs=()
for seed in "${seeds[@]}"; do
	models=$folder/models/$seed log=$folder/$seed.log
	"$python" scripts/hf/families.py --outliers --seed "$seed" "$models" 2>"$folder/make.log" || { cat "$folder/make.log"; exit 1; }
	PROVE_MODEL_HF=$models go test -count=1 -v -run 'TestFamilies$|TestFamiliesQuantised$' ./hf . >"$log" || { grep -v '^=== ' "$log" || true; failed=1; }
	logs+=("$log")
done

echo "| model | error, % of the range | rows that are sure | tokens as the float model's |"
echo "|---|---|---|---|"
awk '
	/^=== RUN  *TestFamiliesQuantised\// { sub(/.*\//, ""); name = $0 }
	/of the range;/ { match($0, /off by [0-9.]+/); e = substr($0, RSTART + 7, RLENGTH - 7) + 0; if (e > worst[name]) worst[name] = e
		match($0, /[0-9]+ of [0-9]+ rows/); split(substr($0, RSTART, RLENGTH), n, " "); sure[name] += n[1]; rows[name] += n[3] }
	/ of [0-9]+ tokens$/ { same[name] += $(NF - 3); tokens[name] += $(NF - 1) }
	END { for (name in worst) printf "| %s | %.3f | %d of %d | %s |\n", name, worst[name], sure[name], rows[name], tokens[name] ? same[name] " of " tokens[name] : "–" }
' "${logs[@]}" | sort

"$python" scripts/hf/tokenizer_cases.py --lines "${LINES:-10000}" "$folder/tokenizers"
PROVE_MODEL_TOKENIZERS=$folder/tokenizers go test -count=1 ./hf/tokenizer || failed=1
exit $failed
