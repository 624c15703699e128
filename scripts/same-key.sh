#!/usr/bin/env bash
# The same key on every architecture: builds the command for arm64, commits to
# the bundled model and some of the example models there, in an emulator, and
# compares the keys with those that this machine makes: from ranges files and
# from samples. Runs the tests of internal/elementary there, too.
#
#   scripts/same-key.sh [folder]     default: $PROVE_MODEL_MODELS or ../shared/models
#
# Without qemu-user, which is installed with apt-get where that is possible, this
# is skipped, except when CI=true: then that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0

emulator=
find_emulator() { emulator=$(command -v qemu-aarch64 || command -v qemu-aarch64-static || true); }
find_emulator
if [ -z "$emulator" ] && command -v apt-get >/dev/null; then
	root=
	[ "$(id -u)" = 0 ] || root="sudo -n"
	echo "same-key: installing qemu-user" >&2
	{ $root apt-get update && $root apt-get install -y --no-install-recommends qemu-user; } >/dev/null 2>&1 || true
	find_emulator
fi
if [ -z "$emulator" ]; then
	echo "same-key: no qemu-aarch64, and it could not be installed (Debian package qemu-user): SKIPPED" >&2
	[ "${CI:-}" != true ]
	exit
fi

go=${GO:-go}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$go" build -o "$dir/here" ./cmd/prove-model
GOARCH=arm64 "$go" build -o "$dir/there" ./cmd/prove-model
GOARCH=arm64 "$go" test -c -o "$dir/elementary.test" ./internal/elementary
(cd internal/elementary && "$emulator" "$dir/elementary.test" -test.short -test.run 'Bits|Special|Quick')

# same NAME MODEL SAMPLES: the keys from samples, and from the ranges they give.
same() {
	local commit="commit --model $2 --no-cache --quiet"
	"$dir/here" $commit --calibration "$3" --ranges-out "$dir/here.json" --vk "$dir/here.vk" >/dev/null
	"$emulator" "$dir/there" $commit --ranges "$dir/here.json" --vk "$dir/ranges.vk" >/dev/null
	"$emulator" "$dir/there" $commit --calibration "$3" --ranges-out "$dir/there.json" --vk "$dir/there.vk" >/dev/null
	cmp "$dir/here.vk" "$dir/ranges.vk"
	cmp "$dir/here.json" "$dir/there.json"
	cmp "$dir/here.vk" "$dir/there.vk"
	echo "same-key: $1: the same on arm64, $(sha256sum "$dir/here.vk" | cut -c1-16)…"
}

same digits testdata/digits/digits.onnx testdata/digits/calibration.json
folder=${1:-${PROVE_MODEL_MODELS:-../shared/models}}
for name in 1l_gelu_noappx 1l_tanh lenet_5 self_attention; do
	if [ -f "$folder/$name/network.onnx" ]; then
		same "$name" "$folder/$name/network.onnx" "$folder/$name/input.json"
	else
		echo "same-key: SKIPPED, there is no $folder/$name"
	fi
done
