#!/usr/bin/env bash
# Prints the name of a Chromium, which it installs by the system's own packages if there
# is none and it may: as root, with apt-get. Without one it fails and says why.
set -euo pipefail
for name in chromium chromium-browser google-chrome; do
	if command -v "$name"; then exit; fi
done
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "chromium: there is none, and it is installed by root with apt-get alone" >&2
	exit 1
fi
{
	apt-get update
	DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends chromium
} >&2
command -v chromium
