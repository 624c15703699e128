#!/usr/bin/env bash
# The archives of this commit are the same bytes when they are built again in
# another folder, with an empty build cache.
#
#   scripts/dist-check.sh [arguments of scripts/dist]
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -n "$(git status --porcelain --untracked-files=no)" ]; then
	echo "dist-check: the working tree has changes that are not committed" >&2
	exit 1
fi
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
go run ./scripts/dist -o "$work/first" "$@"
git clone --quiet --shared . "$work/elsewhere"
cd "$work/elsewhere"
GOCACHE="$work/cache" go run ./scripts/dist -o "$work/second" "$@"
diff "$work/first/SHA256SUMS" "$work/second/SHA256SUMS"
(cd "$work/second" && sha256sum --check --quiet SHA256SUMS)
echo "dist-check: the same bytes"
