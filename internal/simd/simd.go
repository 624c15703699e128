// Package simd says which vector instructions the assembly of this module may use. All
// its packages ask here.
//
// The environment variable PROVE_MODEL_ASM, read at start, limits them: "off", "avx2" or
// "avx512". Instructions that the processor lacks are never used. Any other value is
// ignored. Results never depend on the instructions.
package simd

// Level is a set of vector instructions, each including those before it.
type Level int

// The levels.
const (
	None   Level = iota // plain Go
	AVX2                // AVX2
	AVX512              // AVX-512 F, BW, DQ and VL
)

// String returns the name that PROVE_MODEL_ASM takes.
func (l Level) String() string {
	switch l {
	case AVX2:
		return "avx2"
	case AVX512:
		return "avx512"
	}
	return "off"
}

// Best returns the highest level that the processor has, the build contains and the
// environment allows.
func Best() Level { return best }

// limit returns the highest level that a value of PROVE_MODEL_ASM allows.
func limit(value string) Level {
	for l := None; l < AVX512; l++ {
		if value == l.String() {
			return l
		}
	}
	return AVX512
}
