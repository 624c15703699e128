package bytedot

import (
	"golang.org/x/sys/cpu"

	"github.com/prove-model/prove-model/internal/simd"
	"github.com/prove-model/prove-model/prover/math/field"
)

// fast says whether the kernels are used; tests change it. They need instructions that
// simd.AVX512 does not include.
var fast = simd.Best() == simd.AVX512 && cpu.X86.HasAVX512VNNI && cpu.X86.HasAVX512VBMI

// Fast says whether the processor has instructions with which sums of bytes are faster than other ways to compute the same.
func Fast() bool { return fast }

// prefix returns how many of n numbers the kernels handle: a multiple of unit, a power of two, which may be 0. Kernels must not be called
// with 0 numbers.
func prefix(n, unit int) int {
	if !fast {
		return 0
	}
	return n &^ (unit - 1)
}

const (
	// group is the number of columns that are interleaved in a table: byte k of the weights of four neighbouring columns
	// make a word of 32 bits.
	group = 4
	// pieces is the number of bytes of an element of K.
	pieces = 16
	// MaxRows is the most rows that Sums handles at once.
	MaxRows = 16
	// MaxColumns is the most columns of a table. A sum of that many products of a byte, at most 255, and a signed byte, at most 128 in
	// magnitude, is below 2^31.
	MaxColumns = 1 << 16
)

// TableBytes returns the size of a table of n columns, a multiple of 4.
func TableBytes(n int) int { return pieces * n }

// Pack fills a table of [TableBytes](len(weights)) bytes with the weights, whose number must be a multiple
// of 4: byte k of weight 4i+j is at 64i+4k+j.
func Pack(table []byte, weights []field.QM31) {
	if len(weights)%group != 0 || len(table) != TableBytes(len(weights)) {
		panic("bytedot: a table of another size")
	}
	if fast && len(weights) > 0 {
		packAVX512(&table[0], (*uint32)(&weights[0].C0.A0), uint64(len(weights)/group))
		return
	}
	for i := range weights {
		at := i/group*group*pieces + i%group
		for l, v := range weights[i].Limbs() {
			for b := range 4 {
				table[at+group*(4*l+b)] = byte(v >> (8 * b))
			}
		}
	}
}

// PackRows fills dst, of [TableBytes](n) bytes, with at most MaxRows rows of n bytes each, where n is a
// multiple of 4: byte 4i+j of row r is at 64i+4r+j. If there are fewer than MaxRows rows, the others are zero.
func PackRows(dst []byte, rows [][]int8) {
	if len(rows) > MaxRows {
		panic("bytedot: too many rows")
	}
	if len(rows) < MaxRows {
		clear(dst)
	}
	for r, row := range rows {
		if len(row)%group != 0 || len(dst) != TableBytes(len(row)) {
			panic("bytedot: a row of another length")
		}
		n := prefix(len(row), group*MaxRows)
		if n > 0 {
			placeAVX512(&dst[group*r], &row[0], uint64(n/(group*MaxRows)))
		}
		for c := n; c < len(row); c++ {
			dst[c/group*group*MaxRows+group*r+c%group] = byte(row[c])
		}
	}
}

// Sums sets sums[r] = Σ_c (byte c of row r)·(weight c), for the first len(sums) rows. rows is what PackRows and table what Pack has
// filled. Both must have the same number of columns, at most MaxColumns.
func Sums(sums []field.QM31, rows, table []byte) {
	columns := len(table) / pieces
	if len(rows) != len(table) || len(sums) > MaxRows {
		panic("bytedot: rows and table of different lengths, or too many sums")
	}
	if columns > MaxColumns {
		panic("bytedot: too many columns")
	}
	var out [MaxRows][pieces]int32
	done := dotsFast(&out, len(sums), rows, table)
	dotsGeneric(&out, len(sums), rows[done:], table[done:])
	for r := range sums {
		sums[r] = element(&out[r])
	}
}

// dotsFast adds up the sums of the first n rows in out with the kernels, and returns how many bytes of rows and of table it has handled.
func dotsFast(out *[MaxRows][pieces]int32, n int, rows, table []byte) int {
	const step = 2 * group * pieces
	if !fast || len(table) == 0 {
		return 0
	}
	if len(table) < step { // one group, as for a single element of K: it is filled up with zeros
		var padded [2][step]byte
		copy(padded[0][:], rows)
		copy(padded[1][:], table)
		dots(out, n, &padded[0][0], &padded[1][0], step/(group*pieces))
		return len(table)
	}
	done := prefix(len(table), step)
	dots(out, n, &rows[0], &table[0], uint64(done/(group*pieces)))
	return done
}

// dots calls the kernel for n rows.
func dots(out *[MaxRows][pieces]int32, n int, rows, table *byte, groups uint64) {
	if n <= MaxRows/2 {
		dots8AVX512(&out[0][0], rows, table, groups)
	} else {
		dots16AVX512(&out[0][0], rows, table, groups)
	}
}

// dotsGeneric adds the sums of the first n rows to out.
func dotsGeneric(out *[MaxRows][pieces]int32, n int, rows, table []byte) {
	for at := 0; at < len(table); at += group * pieces {
		for r := range n {
			for k := range pieces {
				for j := range group {
					out[r][k] += int32(int8(rows[at+group*r+j])) * int32(table[at+group*k+j])
				}
			}
		}
	}
}

// element returns Σ_k 256^k·sums[4l+k], for k < 4, modulo p as limb l of an element of K.
func element(sums *[pieces]int32) field.QM31 {
	var l [4]field.M31
	for i := range l {
		s := sums[4*i : 4*i+4 : 4*i+4]
		l[i] = field.FromInt64(int64(s[0]) + int64(s[1])<<8 + int64(s[2])<<16 + int64(s[3])<<24)
	}
	return field.NewQM31(l[0], l[1], l[2], l[3])
}
