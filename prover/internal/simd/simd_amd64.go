//go:build amd64 && !purego

package simd

import (
	"os"

	"github.com/klauspost/cpuid/v2"
)

var best = min(processor(), limit(os.Getenv("PROVE_MODEL_ASM")))

// processor returns the highest level of the processor and operating system.
func processor() Level {
	switch {
	case cpuid.CPU.Supports(cpuid.AVX2, cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL):
		return AVX512
	case cpuid.CPU.Supports(cpuid.AVX2):
		return AVX2
	}
	return None
}
