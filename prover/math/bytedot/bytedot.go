package bytedot

import (
	"golang.org/x/sys/cpu"

	"github.com/prove-model/prove-model/internal/simd"
	"github.com/prove-model/prove-model/prover/math/field"
)

// fast says whether the kernels are used; tests change it. They need instructions beyond
// those that level AVX512 stands for.
var fast = simd.Best() == simd.AVX512 && cpu.X86.HasAVX512VNNI && cpu.X86.HasAVX512VBMI

// Fast says whether the processor multiplies bytes so quickly that sums of bytes pay.
func Fast() bool { return fast }

// prefix returns how many of n numbers the kernels take, which take whole units, and one at least.
func prefix(n, unit int) int {
	if !fast {
		return 0
	}
	return n &^ (unit - 1)
}

const (
	// group is how many columns lie side by side in a table: the bytes of one place of their
	// weights make a word of 32 bits.
	group = 4
	// pieces is the number of bytes of an element of K.
	pieces = 16
	// MaxRows is how many rows are summed at once.
	MaxRows = 16
	// MaxColumns is the most columns of a table.
	MaxColumns = 1 << 16 // times 255·128 is below 2^31
)

// TableBytes returns the size of a table of n columns, a multiple of 4.
func TableBytes(n int) int { return pieces * n }

// Pack sets a table of [TableBytes](len(weights)) bytes to the weights, as many as a multiple
// of 4: byte k of weight 4i+j at 64i+4k+j.
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

// PackRows sets dst, of [TableBytes](n) bytes, to at most MaxRows rows of n bytes, n a
// multiple of 4: byte 4i+j of row r at 64i+4r+j. Rows that are not there are zero.
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

// Sums sets sums[r] = Σ_c (byte c of row r)·(weight c of the table), for the first len(sums) of
// packed rows with as many columns as the table, MaxColumns at most.
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
	done := prefix(len(table), step)
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

// element returns the element whose bytes have these sums.
func element(sums *[pieces]int32) field.QM31 {
	var l [4]field.M31
	for i := range l {
		s := sums[4*i : 4*i+4 : 4*i+4]
		l[i] = field.FromInt64(int64(s[0]) + int64(s[1])<<8 + int64(s[2])<<16 + int64(s[3])<<24)
	}
	return field.NewQM31(l[0], l[1], l[2], l[3])
}
