#!/usr/bin/env bash
# Builds a wheel for this machine, installs it into a virtual environment, and runs
# the package's tests and mypy there.
#
#   scripts/test-python.sh [--torch] [arguments of pytest]
#
# With --torch the environment has torch, transformers and what the notebook needs, and
# their tests run too: PyPI's torch brings libraries for GPUs, 6 GB. Environments are
# .cache/python and .cache/python-torch, of the versions in python/requirements-*.txt.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.cache/python requirements=python/requirements-test.txt
if [ "${1:-}" = --torch ]; then
	venv=.cache/python-torch requirements=python/requirements-torch.txt
	shift
fi
scripts/venv.sh "$venv" -r "$requirements"
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
scripts/wheels.sh "$wheels"
"${PYTHON:-python3}" -m pip --python "$venv/bin/python" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheels"/*.whl
venv=$PWD/$venv
cd python
"$venv/bin/python" -m mypy
"$venv/bin/python" -m pytest "$@"
