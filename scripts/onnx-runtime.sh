# Sourced by scripts that hold proofs of many models against ONNX Runtime: it sets up an
# interpreter, builds the command and runs the models of a folder one after the other.
#
#   folder=dist/NAME
#   . scripts/onnx-runtime.sh
#   interpreter REQUIREMENTS.txt        sets $python: $PYTHON, or one of its own in $folder/venv
#   prove_all COMPARE.py SUFFIX [FLAGS...]
#
# A model is $folder/models/NAME.onnx with its input NAME.SUFFIX, what ONNX Runtime makes of
# it, NAME.want.npz, and, where it has them, samples NAME.calibration.SUFFIX and further flags
# of its own, NAME.flags, one a line. COMPARE.py prints a line of a table from NAME.want.npz
# and the report of `prove-model --json`, and exits with 1 where they differ too much.

mkdir -p "$folder"

interpreter() {
	python=${PYTHON:-$folder/venv/bin/python}
	[ -n "${PYTHON:-}" ] || scripts/venv.sh "$folder/venv" -r "$1"
}

# prove_all proves and verifies every model and compares the outputs. It returns 1 where one
# is refused, not valid or too far off, after all have been tried.
prove_all() {
	local compare=$1 suffix=$2 failed=0 model base flags
	CGO_ENABLED=0 go build -o "$folder/prove-model" ./cmd/prove-model
	for model in "$folder"/models/*.onnx; do
		base=${model%.onnx}
		flags=()
		[ ! -e "$base.flags" ] || mapfile -t flags <"$base.flags"
		[ ! -e "$base.calibration.$suffix" ] || flags+=(--calibration "$base.calibration.$suffix")
		if ! "$folder/prove-model" --model "$model" --input "$base.$suffix" "${flags[@]}" \
			--proof "$base.proof" --vk "$base.vk" --no-cache --json >"$base.json" 2>"$base.log"; then
			echo "| $(basename "$base") | refused: $(grep -v '^ ' "$base.log" | tail -1) |"
			failed=1
		elif ! "$folder/prove-model" verify --proof "$base.proof" --vk "$base.vk" --input "$base.$suffix" >/dev/null; then
			echo "$base: not valid"
			failed=1
		else
			"$python" "$compare" "$base.want.npz" "$base.json" || failed=1
		fi
	done
	return $failed
}
