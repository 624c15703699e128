#!/usr/bin/env bash
# Tests of the build with GPU support: its packages, and every kernel compiled
# by NVRTC. They need no GPU; with PROVE_MODEL_TEST_GPU=1 they use one. Where
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
packages=$("${GO:-go}" list ./nvrtc/... ./kernels/... ./prover/machine/... ./cmd/... .)
"${GO:-go}" vet -tags cuda $packages
"${GO:-go}" test -tags cuda ./nvrtc/... ./kernels/... ./prover/machine/...
