#!/usr/bin/env bash
# The commands of README.md run as they stand there, from the root of a clone, and print
# what it says, but for figures that are measured.
#
#   scripts/readme.sh
#
# A command is a line of a block that begins with "$ ", and every line of a block that is
# marked sh; what follows the former is what it prints. `make test` is left to others, and
# so are commands on a model that has to be fetched first, and what fetches it.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/clone"
git ls-files -z --cached --others --exclude-standard | xargs -0 tar -cf - | tar -xf - -C "$work/clone"
cd "$work/clone"
export PROVE_MODEL_CACHE_DIR=$work/cache GPU=off

# Lines "run COMMAND" and "says LINE".
awk '
	/^```/ { inside = !inside; shell = $0 == "```sh"; transcript = 0; next }
	!inside { next }
	command != "" { # which the line before began
		sub(/^ +/, "")
		command = command " " $0
		if (!sub(/ *\\$/, "", command)) { print "run " command; command = "" }
		next
	}
	/^\$ .*\\$/ { command = substr($0, 3); sub(/ *\\$/, "", command); transcript = 1; next }
	shell { sub(/ *#.*/, ""); if ($0 != "") print "run " $0; next }
	/^\$ / { print "run " substr($0, 3); transcript = 1; next }
	transcript && $0 != "" { print "says " $0 }
' README.md >"$work/lines"

# plain leaves of a line what does not depend on the machine.
plain() { sed -E 's/ +[0-9.]+ (s|ms)\b.*//; s/[0-9.]+ [KMG]?B\b.*//; s/ in [0-9.]+ ms//; s/^takes about.*/takes/'; }

commands=0 lines=0 skipped=
while read -r kind line; do
	case $kind in
	run)
		skipped=
		if [ "$line" = "make test" ] || [[ $line =~ ([^ ]+\.gguf) && ! -e ${BASH_REMATCH[1]} ]]; then
			echo "readme: not here: $line"
			skipped=yes
			continue
		fi
		echo "readme: $line"
		rm -rf "$PROVE_MODEL_CACHE_DIR"
		bash -euc "$line" >"$work/out" 2>&1 </dev/null || { cat "$work/out"; echo "readme: failed: $line" >&2; exit 1; }
		plain <"$work/out" >"$work/plain"
		commands=$((commands + 1))
		;;
	says)
		[ -z "$skipped" ] || continue
		if ! grep -qxF -e "$(plain <<<"$line")" "$work/plain"; then
			cat "$work/out"
			echo "readme: this is not what it prints: $line" >&2
			exit 1
		fi
		lines=$((lines + 1))
		;;
	esac
done <"$work/lines"
if [ "$commands" -lt 5 ] || [ "$lines" -lt 10 ]; then
	echo "readme: $commands commands and $lines lines of output found, which is too few" >&2
	exit 1
fi
echo "readme: $commands commands, $lines lines"
