//go:build amd64 && !purego

package bytedot

import (
	"golang.org/x/sys/cpu"

	"github.com/prove-model/prove-model/internal/simd"
	"github.com/prove-model/prove-model/prover/math/field"
)

//go:generate go run -C ../../../scripts/asm ./bytedot -out ../../prover/math/bytedot/kernels_amd64.s -stubs ../../prover/math/bytedot/kernels_amd64.go -pkg bytedot

// fast says whether the kernels are used; tests change it. They need instructions beyond
// those that level AVX512 stands for.
var fast = simd.Best() == simd.AVX512 && cpu.X86.HasAVX512VNNI && cpu.X86.HasAVX512VBMI

// Fast says whether the processor multiplies bytes so quickly that sums of bytes pay.
func Fast() bool { return fast }

func packFast(table []byte, weights []field.QM31) int {
	if !fast || len(weights) == 0 {
		return 0
	}
	packAVX512(&table[0], (*uint32)(&weights[0].C0.A0), uint64(len(weights)/group))
	return len(weights)
}

func placeFast(dst []byte, r int, row []int8) int {
	n := len(row) &^ (group*MaxRows - 1)
	if !fast || n == 0 {
		return 0
	}
	placeAVX512(&dst[group*r], &row[0], uint64(n/(group*MaxRows)))
	return n
}

// dotsFast sums the first n rows, and returns how many bytes of each table it has done.
func dotsFast(out *[MaxRows][pieces]int32, n int, rows, table []byte) int {
	const step = 2 * group * pieces
	if !fast || len(table) == 0 {
		return 0
	}
	if len(table) < step { // one group, as tables of single elements of K are: with zeros behind
		var padded [2][step]byte
		copy(padded[0][:], rows)
		copy(padded[1][:], table)
		dots(out, n, &padded[0][0], &padded[1][0], step/(group*pieces))
		return len(table)
	}
	done := len(table) &^ (step - 1)
	dots(out, n, &rows[0], &table[0], uint64(done/(group*pieces)))
	return done
}

func dots(out *[MaxRows][pieces]int32, n int, rows, table *byte, groups uint64) {
	if n <= MaxRows/2 {
		dots8AVX512(&out[0][0], rows, table, groups)
	} else {
		dots16AVX512(&out[0][0], rows, table, groups)
	}
}

func splitFast(plane []int8, values []int32) (n int, rest int32) {
	n = len(values) &^ 15
	if !fast || n == 0 {
		return 0, 0
	}
	var r [16]int32
	splitAVX512(&plane[0], &values[0], &r[0], uint64(n))
	for _, v := range r {
		rest |= v
	}
	return n, rest
}

func joinFast(dst []int32, plane []int8) int {
	n := len(dst) &^ 15
	if !fast || n == 0 {
		return 0
	}
	joinAVX512(&dst[0], &plane[0], uint64(n))
	return n
}
