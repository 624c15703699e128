#!/usr/bin/env bash
# The keys that this working tree makes are those of another commit, byte for
# byte: of all operator models in three modes, the bundled models, tiny language
# models, and the example models. A key holds the formats that quantising chose,
# so that a change of these shows as well.
#
#   scripts/same-keys.sh COMMIT [folder]     folder: $PROVE_MODEL_MODELS or ../shared/models
#
# Prints the models whose keys differ, or which one of both refuses, and fails.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0
commit=${1:?a commit to compare with}
folder=${2:-${PROVE_MODEL_MODELS:-../shared/models}}

dir=$(mktemp -d)
trap 'git worktree remove --force "$dir/then" 2>/dev/null || true; rm -rf "$dir"' EXIT
if [ -x "$commit" ]; then # a program that was built before
	cp "$commit" "$dir/then.bin"
else
	git worktree add --quiet --detach "$dir/then" "$commit"
	(cd "$dir/then" && go build -o "$dir/then.bin" ./cmd/prove-model)
fi
go build -o "$dir/now.bin" ./cmd/prove-model

# key PROGRAM MODEL SAMPLES MODE: the digest of a key, or that it was refused. A model that takes any number of tokens is committed to for five.
key() {
	local samples=() tokens
	[ -z "$3" ] || samples=(--calibration "$3")
	for tokens in "" "--tokens 5"; do
		rm -f "$dir/key.vk"
		# shellcheck disable=SC2086 # two words, or none
		if "$dir/$1.bin" commit --model "$2" "${samples[@]}" $tokens --mode "$4" --no-cache --quiet --vk "$dir/key.vk" >/dev/null 2>&1; then
			sha256sum <"$dir/key.vk" | cut -c1-64
			return
		fi
	done
	echo refused
}

count=0 differ=0 refused=0
compare() {
	local then now
	then=$(key then "$@") now=$(key now "$@")
	if [ "$then" = refused ] && [ "$now" = refused ]; then
		refused=$((refused + 1))
		return
	fi
	count=$((count + 1))
	if [ "$then" != "$now" ]; then
		differ=$((differ + 1))
		echo "same-keys: $1, $3: ${then:0:16} then, ${now:0:16} now"
	fi
}
for mode in auto w8a8 exact; do
	for model in onnx/testdata/operators/*.onnx; do
		compare "$model" "${model%.onnx}.json" $mode
	done
	compare testdata/digits/digits.onnx testdata/digits/calibration.json $mode
done
for model in "$folder"/*/network.onnx; do
	[ ! -f "$model" ] || compare "$model" "${model%network.onnx}input.json" auto
done
for model in hf/testdata/* "$folder"/../hf/*/; do
	[ ! -d "$model" ] || compare "$model" "" auto
done
for model in ${SAME_KEYS_MODELS:-}; do # others, such as real language models
	compare "$model" "" auto
done
echo "same-keys: $count keys, $differ differ; both refuse $refused models"
[ "$differ" = 0 ]
