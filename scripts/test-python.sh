#!/usr/bin/env bash
# Builds a wheel for this machine, installs it into a virtual environment, and runs
# the package's tests and mypy there.
#
#   scripts/test-python.sh [arguments of pytest]
#
# The environment is $PROVE_MODEL_VENV, or .cache/python, which is made with the
# versions of python/requirements-test.txt.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=${PROVE_MODEL_VENV:-$PWD/.cache/python}
if [ ! -x "$venv/bin/python" ]; then
	"${PYTHON:-python3}" -m venv "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check -r python/requirements-test.txt
fi
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
PYTHON="$venv/bin/python" scripts/wheels.sh "$wheels"
"$venv/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheels"/*.whl
cd python
"$venv/bin/python" -m mypy
"$venv/bin/python" -m pytest "$@"
