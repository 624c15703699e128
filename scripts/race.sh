#!/usr/bin/env bash
# Tests under the race detector, for the packages that start goroutines: those
# that import sync, errgroup or our parallel loops. The detector needs cgo.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v "${CC:-gcc}" >/dev/null; then
	echo "race: no C compiler (${CC:-gcc}), which the race detector needs"
	[ "${CI:-}" != true ] || exit 1
	echo "race: SKIPPED"
	exit 0
fi

packages=$(go list -f '{{.ImportPath}} {{join .Imports " "}} {{join .TestImports " "}} ' ./... |
	grep -E ' (sync|sync/atomic|golang.org/x/sync/errgroup|[^ ]*/internal/parallel) ' | cut -d' ' -f1)
echo "race:" $packages
CGO_ENABLED=1 go test -race -short -timeout 40m $packages
