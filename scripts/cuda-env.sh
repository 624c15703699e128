# Sourced by the scripts that build with the tag cuda, from the project's root.
# Finds, or fetches, what that needs and sets cgo's variables; if it cannot,
# cuda_env fails after saying why.
#
# Headers are those of $CUDA_HOME, of /usr/local/cuda, or of a package that is
# fetched into .cuda. CUDA 12.4 and later will do, 13 too.

cuda_runtime_version=12.9.79
cuda_nvrtc_version=12.9.86

cuda_env() {
	local include
	if [ "$(uname -s)" != Linux ]; then
		echo "no GPU support on $(uname -s)" >&2
		return 1
	fi
	if ! command -v "${CC:-gcc}" >/dev/null; then
		echo "no C compiler (${CC:-gcc})" >&2
		return 1
	fi
	for include in "${CUDA_HOME:+$CUDA_HOME/include}" /usr/local/cuda/include "$PWD/.cuda/headers/nvidia/cuda_runtime/include"; do
		[ -z "$include" ] || [ ! -f "$include/cuda.h" ] || break
	done
	if [ ! -f "$include/cuda.h" ] && ! scripts/wheel.sh nvidia-cuda-runtime-cu12 "$cuda_runtime_version" .cuda/headers; then
		echo "no CUDA headers: \$CUDA_HOME names none and the package that has them could not be fetched" >&2
		return 1
	fi
	export CGO_ENABLED=1
	# Ours first: it makes CUDA 13's headers fit gorgonia.org/cu. Warnings are of
	# that module, about functions that CUDA calls old.
	export CGO_CFLAGS="-O2 -g -Wno-deprecated-declarations -I$PWD/nvrtc/libcuda/include -I$include"
	# Before the folders where a driver's library may be.
	export CGO_LDFLAGS="-O2 -g -L$PWD/nvrtc/libcuda/lib"
}

# Finds or fetches NVRTC, for tests that compile the kernels.
cuda_nvrtc() {
	[ -z "${PROVE_MODEL_NVRTC:-}" ] || return 0
	if ! scripts/wheel.sh nvidia-cuda-nvrtc-cu12 "$cuda_nvrtc_version" .cuda/nvrtc; then
		echo "no NVRTC: the package that has it could not be fetched" >&2
		return 1
	fi
	export PROVE_MODEL_NVRTC="$PWD/.cuda/nvrtc/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"
}
