package simd

import "testing"

func TestLimit(t *testing.T) {
	for value, want := range map[string]Level{
		"off": None, "avx2": AVX2, "avx512": AVX512, "": AVX512, "AVX2": AVX512, "none": AVX512,
	} {
		if got := limit(value); got != want {
			t.Errorf("PROVE_MODEL_ASM=%q allows %v, want %v", value, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for l := None; l <= AVX512; l++ {
		if limit(l.String()) != l {
			t.Errorf("%v is not the name of level %d", l, l)
		}
	}
}
