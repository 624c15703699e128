//go:build amd64 && !purego

package simd

import (
	"os"

	"golang.org/x/sys/cpu"
)

var best = min(processor(), limit(os.Getenv("PROVE_MODEL_ASM")))

// processor returns the highest level of the processor and operating system.
func processor() Level {
	has := &cpu.X86
	switch {
	case has.HasAVX2 && has.HasAVX512F && has.HasAVX512BW && has.HasAVX512DQ && has.HasAVX512VL:
		return AVX512
	case has.HasAVX2:
		return AVX2
	}
	return None
}
