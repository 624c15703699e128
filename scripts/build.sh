#!/usr/bin/env bash
# Builds the command, and beside it the server, OUTPUT-server: with GPU support where
# a C compiler and CUDA's headers can be had, else without. GPU=off leaves it out,
# GPU=require insists on it.
#
#   scripts/build.sh OUTPUT
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/cuda-env.sh

tags=
if [ "${GPU:-auto}" = off ]; then
	export CGO_ENABLED=0
elif cuda_env; then
	tags=cuda
elif [ "${GPU:-auto}" = require ]; then
	exit 1
else
	echo "build: for the CPU alone" >&2
	export CGO_ENABLED=0
fi
# What the page of the server verifies with in browsers.
GOFLAGS='' CGO_ENABLED=0 "${GO:-go}" generate ./internal/serve
for program in "$1" "$1-server"; do
	"${GO:-go}" build -trimpath -tags "$tags" -o "$program" "./cmd/prove-model${program#"$1"}"
	# The driver is opened when it is asked for, never linked.
	if [ -n "$tags" ] && command -v ldd >/dev/null && ldd "$program" | grep -E 'cuda|nvrtc|nvidia'; then
		echo "build: $program needs the libraries above to start" >&2
		exit 1
	fi
done
