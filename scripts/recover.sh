#!/usr/bin/env bash
# What a plain proof gives away: proves 14 images of the bundled digits with one key, and computes every weight of the
# model from these proofs and the key, without the model (docs/security.md, "What is not claimed").
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
rm -f "$work"/*.proof
bin/prove-model --model testdata/digits/digits.onnx --calibration testdata/digits/calibration.json --input "$work/images.json" --each \
	--no-cache --quiet --proof "$work/digits.proof" --vk "$work/digits.vk" >/dev/null
"$python" scripts/recover/recover.py "$work/digits.vk" "$work"/digits.*.proof
