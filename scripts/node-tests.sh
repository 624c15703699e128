#!/usr/bin/env bash
# Run the backend tests of the onnx package (node, simple, pytorch-*): each is
# quantised and run on integers, the outputs compared with those that the package has,
# and what is right is proved, and refused with bits of the proof changed. Prints a
# table by operator and the refusals with their reasons. Fails where a result is wrong,
# where the program crashes, and where a test of testdata/node-tests.txt is no longer
# right. What is right is quantised in the modes w8a8 and exact as well; there it fails
# where one is refused, or off by more than the mode's bar and not in
# testdata/node-tests-off.txt. -update writes both lists.
#
#   scripts/node-tests.sh [flags of scripts/nodetests]     -h lists them
#
# PYTHON names an interpreter that has the package; without it one is made in
# dist/node-tests.
set -euo pipefail
cd "$(dirname "$0")/.."

version=1.23.2
folder=dist/node-tests
mkdir -p "$folder"
if ! grep -qs "\"onnx\": \"$version\"" "$folder/data/index.json"; then
	python=${PYTHON:-$folder/venv/bin/python}
	if [ -z "${PYTHON:-}" ] && [ ! -x "$python" ]; then
		python3 -m venv "$folder/venv"
		"$python" -m pip install --quiet "onnx==$version" numpy pillow
	fi
	"$python" scripts/nodetests/write.py "$folder/data"
fi
CGO_ENABLED=0 go build -o "$folder/nodetests" ./scripts/nodetests
exec "$folder/nodetests" -data "$folder/data" -keep testdata/node-tests.txt -off testdata/node-tests-off.txt "$@"
