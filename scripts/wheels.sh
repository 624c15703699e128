#!/usr/bin/env bash
# Python wheels of prove-model, each with the command and its server for its
# platform. The same commit gives the same bytes.
#
#   scripts/wheels.sh [--all] [FOLDER]     default: dist
#
# Without --all only the one for this machine. What builds them, hatchling, comes into
# an environment of its own in .cache; $PYTHON (default: python3) must have pip.
set -euo pipefail
cd "$(dirname "$0")/.."

all=
if [ "${1:-}" = --all ]; then
	all=yes
	shift
fi
mkdir -p "${1:-dist}"
out=$(cd "${1:-dist}" && pwd)
python=$PWD/.cache/hatchling/bin/python
scripts/venv.sh .cache/hatchling "$(sed -n 's/^requires = \["\(.*\)"\]$/\1/p' python/pyproject.toml)"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH CGO_ENABLED=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

go generate ./internal/serve # the verifier of the server's page
# wheel GOOS GOARCH TAG
wheel() {
	GOOS=$1 GOARCH=$2 GOAMD64=v1 go build -trimpath -buildvcs=true -ldflags '-s -w -buildid=' -o "$work/$1-$2/" ./cmd/prove-model ./cmd/prove-model-server
	chmod 755 "$work/$1-$2"/*
	(cd python && PROVE_MODEL_PROGRAMS="$work/$1-$2" PROVE_MODEL_PLATFORM=$3 "$python" -m hatchling build -t wheel -d "$out" 2>&1 |
		grep -v '^$')
}

linux=manylinux_2_17
if [ -n "$all" ]; then
	wheel linux amd64 "${linux}_x86_64.musllinux_1_1_x86_64"
	wheel linux arm64 "${linux}_aarch64.musllinux_1_1_aarch64"
	wheel darwin amd64 macosx_12_0_x86_64
	wheel darwin arm64 macosx_12_0_arm64
	wheel windows amd64 win_amd64
	exit
fi
case "$(uname -s)-$(uname -m)" in
Linux-x86_64) wheel linux amd64 "${linux}_x86_64.musllinux_1_1_x86_64" ;;
Linux-aarch64) wheel linux arm64 "${linux}_aarch64.musllinux_1_1_aarch64" ;;
Darwin-x86_64) wheel darwin amd64 macosx_12_0_x86_64 ;;
Darwin-arm64) wheel darwin arm64 macosx_12_0_arm64 ;;
*)
	echo "wheels: no wheel for $(uname -s) on $(uname -m)" >&2
	exit 1
	;;
esac
