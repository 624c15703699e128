#!/usr/bin/env bash
# What proofs give away of weights (docs/security.md, "What is not claimed").
#
# Of a plain key: proves 14 images of the bundled digits with one key, and computes every weight of the model from these
# proofs and the key, without the model.
#
# Of a key that hides weights: computes, exactly, that as many proofs as it is good for tell nothing of any row. Then it does
# what a ledger is there to prevent: it puts an older copy of the secret back, again and again, and proves on, until the
# proofs give all weights.
#
# PYTHON names an interpreter that has NumPy; without it one is made in dist/recover.
set -euo pipefail
cd "$(dirname "$0")/.."

work=dist/recover
mkdir -p "$work"
python=${PYTHON:-}
if [ -z "$python" ]; then
	python=$work/python/bin/python
	[ -x "$python" ] || { python3 -m venv "$work/python" && "$python" -m pip install --quiet numpy==2.3.5; }
fi
[ -x bin/prove-model ] || make build
"$python" - "$work/images.json" <<'END'
import json, sys
images = json.load(open("testdata/digits/test.json"))["input_data"][0]
json.dump({"input_data": [images[:14 * 64]]}, open(sys.argv[1], "w"))
END
rm -rf "$work"/*.proof "$work"/hidden.* "$work/config"
samples=(--model testdata/digits/digits.onnx --calibration testdata/digits/calibration.json --no-cache --quiet)
bin/prove-model "${samples[@]}" --input "$work/images.json" --each --proof "$work/digits.proof" --vk "$work/digits.vk" >/dev/null
"$python" scripts/recover/recover.py "$work/digits.vk" "$work"/digits.*.proof

echo
export XDG_CONFIG_HOME=$PWD/$work/config # where the command remembers how long a ledger is
vk=$work/hidden.vk
bin/prove-model commit "${samples[@]}" --hide weights --proofs 1 --vk "$vk"
cp "$vk.secret" "$work/hidden.old"
for n in $(seq 10 33); do
	if ! bin/prove-model "${samples[@]}" --input testdata/digits/input.json --vk "$vk" --proof "$work/hidden.$n.proof" >/dev/null 2>"$work/hidden.error"; then
		[ "$n" -gt 10 ] && grep -q 'the key is used up' "$work/hidden.error" || { cat "$work/hidden.error"; exit 1; }
		rm -r "$XDG_CONFIG_HOME"
		cat "$work/hidden.old" >"$vk.secret"
		bin/prove-model "${samples[@]}" --input testdata/digits/input.json --vk "$vk" --proof "$work/hidden.$n.proof" >/dev/null
	fi
done
go run ./scripts/recover/hiding "$vk" "$work"/hidden.*.proof
