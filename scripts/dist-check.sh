#!/usr/bin/env bash
# The archives of this commit are the same bytes when they are built again in
# another folder, with an empty build cache.
#
#   scripts/dist-check.sh [arguments of scripts/dist]
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
# Clones, as a working tree may have files that are not committed, which the
# command says of itself.
git clone --quiet --shared . "$work/here"
git clone --quiet --shared . "$work/another/place"
(cd "$work/here" && go run ./scripts/dist -o "$work/first" "$@")
(cd "$work/another/place" && GOCACHE="$work/cache" go run ./scripts/dist -o "$work/second" "$@")
diff "$work/first/SHA256SUMS" "$work/second/SHA256SUMS"
(cd "$work/second" && sha256sum --check --quiet SHA256SUMS)
echo "dist-check: the same bytes"
