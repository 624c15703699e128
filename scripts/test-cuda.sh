#!/usr/bin/env bash
# Tests of the build with GPU support: what is in it alone, and every kernel compiled
# by NVRTC. They need no GPU; with PROVE_MODEL_TEST_GPU=1 all tests of kernels and backend
# use one. Where
# what they need cannot be had they are skipped, except when CI=true: then that
# is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/cuda-env.sh

if ! cuda_env || ! cuda_nvrtc; then
	echo "test-cuda: SKIPPED" >&2
	[ "${CI:-}" != true ]
	exit
fi
go=${GO:-go}
# make lint vets the packages that have no file with the tag.
"$go" vet -tags cuda ./nvrtc/... ./kernels/...
# The tests of kernels and backend are the same with the tag: on the host they have run
# without it, so that only those of files with the tag run again. A GPU needs it.
run=.
if [ "${PROVE_MODEL_TEST_GPU:-}" != 1 ]; then
	run="^($(sed -n 's/^func \(Test[A-Za-z0-9_]*\)(.*/\1/p' $(grep -lE '^//go:build cuda' kernels/*_test.go) | paste -sd '|'))\$"
else
	"$go" test -vet=off -tags cuda ./prover/machine/...
fi
"$go" test -vet=off -tags cuda ./nvrtc/...
"$go" test -vet=off -tags cuda -run "$run" ./kernels/...
