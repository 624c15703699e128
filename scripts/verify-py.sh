#!/usr/bin/env bash
# The second verifier, scripts/verify.py, against the command: both must say the
# same of every golden proof and of every model in a folder, proved afresh; and
# it must refuse golden proofs and keys that were altered. Of keys whose structure
# was, and which were proved honestly, both must say the same.
#
#   scripts/verify-py.sh [--quick] [folder]     default: $PROVE_MODEL_MODELS or ../shared/models
#
# --quick: golden proofs, 200 altered ones and 100 keys, no models.
set -euo pipefail
cd "$(dirname "$0")/.."

altered=1000 keys=300
if [ "${1:-}" = --quick ]; then
	altered=200 keys=100
	shift
	folder=
else
	folder=${1:-${PROVE_MODEL_MODELS:-../shared/models}}
fi
if ! command -v python3 >/dev/null; then
	echo "verify-py: no python3"
	[ "${CI:-}" != true ] || exit 1
	echo "verify-py: SKIPPED"
	exit 0
fi
[ -x bin/prove-model ] || make build
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# same NAME PROOF KEY: both verifiers accept, and print the same but for their times, and for how many proofs a key
# hides weights, which is no matter of a proof.
same() {
	bin/prove-model verify --proof "$2" --vk "$3" >"$work/go"
	scripts/verify.py --proof "$2" --vk "$3" >"$work/py"
	if ! diff <(sed '$d; /^budget /d' "$work/go") <(sed '$d' "$work/py") >&2; then
		echo "verify-py: $1: the two verifiers do not say the same" >&2
		exit 1
	fi
	echo "verify-py: $1: $(tail -n 1 "$work/py")"
}

for golden in testdata/golden/*/ testdata/masked/*/; do
	same "$(basename "$(dirname "$golden")") $(basename "$golden")" "$golden/run.proof" "$golden/key.vk"
done
for link in testdata/links/*/; do
	for what in go py; do
		check=(bin/prove-model check-key)
		[ "$what" = go ] || check=(scripts/verify.py)
		"${check[@]}" --renew "$link/former.vk" --vk "$link/key.vk" --min-bits 40 >"$work/$what" 2>/dev/null && echo linked >>"$work/$what"
	done
	[[ $link == *_different/ ]] && want="NOT LINKED: .*" || want=linked
	tail -n 1 "$work/go" | grep -qx "$want" || { echo "verify-py: $link: $(cat "$work/go")" >&2; exit 1; }
	if [ "$want" = linked ]; then
		diff "$work/go" "$work/py" >&2 || { echo "verify-py: $link: the two verifiers do not say the same" >&2; exit 1; }
	else
		tail -n 1 "$work/py" | grep -qx "$want" || { echo "verify-py: $link: verify.py accepts it" >&2; exit 1; }
	fi
	echo "verify-py: link $(basename "$link"): $(head -n 1 "$work/py")"
done
# An encoder–decoder's answer, which the command prints in more words.
said=$(scripts/verify.py --proof testdata/answer/run.proof --vk testdata/answer/key.vk)
for text in "10 8 25 3 40" "31 34 31" "cut at 3 tokens"; do
	[[ $said == *"$text"* ]] || { echo "verify-py: answer: not $text" >&2; exit 1; }
done
# What a model of speech heard and wrote.
said=$(scripts/verify.py --proof testdata/transcript/run.proof --vk testdata/transcript/key.vk)
for text in "cut at 3 tokens" "audio [16000]"; do
	[[ $said == *"$text"* ]] || { echo "verify-py: transcript: not $text: $said" >&2; exit 1; }
done
# A chain of segments, and what is none.
chain=testdata/chain
said=$(scripts/verify.py --vk $chain/key.vk --chain $chain/{1,2,3}.proof)
[[ $said == *"a text in 3 segments"* ]] || { echo "verify-py: chain: $said" >&2; exit 1; }
statement=$(scripts/verify.py --vk $chain/key.vk --chain $chain/1.proof | awk '/^statement/ {print $2}')
said=$(scripts/verify.py --vk $chain/key.vk --chain $chain/{1,2}.proof --from "$statement")
[[ $said == *"word of whoever gave it"* ]] || { echo "verify-py: chain from $statement: $said" >&2; exit 1; }
for none in "--chain $chain/1.proof $chain/3.proof" "--chain $chain/2.proof $chain/3.proof" "--chain $chain/1.proof $chain/1.proof" \
	"--proof $chain/2.proof" "--chain $chain/2.proof $chain/3.proof --from $statement"; do
	# shellcheck disable=SC2086
	if scripts/verify.py --vk $chain/key.vk $none >"$work/py" 2>&1; then
		echo "verify-py: chain: $none is accepted" >&2
		exit 1
	fi
done
if [ -n "$folder" ] && [ -d "$folder" ]; then
	for model in "$folder"/*/; do
		bin/prove-model --model "$model/network.onnx" --input "$model/input.json" --no-cache --quiet \
			--proof "$work/proof" --vk "$work/vk" >"$work/out"
		same "$(basename "$model")" "$work/proof" "$work/vk"
	done
elif [ -n "$folder" ]; then
	echo "verify-py: models SKIPPED, there is no folder $folder"
fi
scripts/verify-altered.py --count "$altered" testdata/golden
scripts/verify-altered.py --count $((altered / 2)) testdata/masked
scripts/verify-mutants.py --count "$keys"
