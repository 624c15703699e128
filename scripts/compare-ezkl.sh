#!/usr/bin/env bash
# The same models proved by EZKL (KZG over BN254, a universal trusted set-up)
# and by prove-model, one after the other on the same machine. Prints rows of a
# Markdown table. Needs Python 3; installs EZKL, pinned, into a folder of its own.
#
# usage: scripts/compare-ezkl.sh FOLDER...   each with network.onnx and input.json
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -eq 0 ]; then
	echo "usage: scripts/compare-ezkl.sh FOLDER... (each with network.onnx and input.json)" >&2
	exit 2
fi
venv=.cache/ezkl
if [ ! -x "$venv/bin/python" ]; then
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet ezkl==23.0.5
fi
[ -x bin/prove-model ] || make build >&2
echo "| model | prover | set-up s | prove s | verify ms | proof KB | peak GB | |"
echo "|---|---|---:|---:|---:|---:|---:|---|"
for folder in "$@"; do
	"$venv/bin/python" scripts/compare-ezkl.py "$folder" 2>/dev/null | grep '^|' ||
		echo "| $(basename "$folder") | EZKL | failed | | | | | |"
	bin/prove-model bench model "$folder" --json 2>/dev/null | python3 -c '
import json, sys
for r in json.load(sys.stdin):
    print("|", r["model"], "| prove-model | %.3f | %.3f | %.1f | %.1f | %.2f | %.0f bits |" % (
        r["commit_seconds"], r["prove_seconds"], 1e3 * r["verify_seconds"], r["proof_bytes"] / 1e3, r["peak_memory_bytes"] / 1e9, r["security_bits"]))'
done
