#!/usr/bin/env bash
# Makes a Python virtual environment with packages in it, or leaves the one that is
# there if it was made of the same.
#
#   scripts/venv.sh FOLDER [-r FILE | PACKAGE==VERSION]...
#
# $PYTHON is the interpreter (default: python3), which must have pip, of 22.3 or later:
# the environment needs none, which not every system could put there.
set -euo pipefail
folder=$1
shift
python=${PYTHON:-python3}
"$python" -m pip --version >/dev/null || { echo "venv: $python has no pip, which fetches $*" >&2; exit 1; }

contents=$(
	"$python" --version
	for argument; do
		if [ -f "$argument" ]; then cat "$argument"; else echo "$argument"; fi
	done
)
[ "$(cat "$folder/made-of" 2>/dev/null)" != "$contents" ] || exit 0
rm -rf "$folder"
"$python" -m venv --without-pip "$folder"
"$python" -m pip --python "$folder/bin/python" install --quiet --disable-pip-version-check "$@"
printf '%s\n' "$contents" >"$folder/made-of"
