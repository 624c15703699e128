package matmul

import (
	"math"
	"math/bits"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/internal/simd"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// A Matrix is multiplied by one vector after the other. Such a product reads every entry once, so the memory's bandwidth bounds its speed.
// So a row of 32-bit entries is also kept in 16 bits, if it fits after a right shift by the number of low bits that are zero in all
// its entries.
type Matrix struct {
	n, k int // the numbers of rows and of entries of a row
	data ints.Ints
	// If data has entries of 32 bits, short has the rows shifted to the right, and shifts by how many bits; tooWide stands for a row that
	// is only in data.
	short  []int16
	shifts []uint8
}

// tooWide is the shift of a row that does not fit in 16 bits.
const tooWide = math.MaxUint8

// NewMatrix returns a matrix with rows of k > 0 entries each. It keeps data, which must not change.
func NewMatrix(data ints.Ints, k int) *Matrix {
	m := &Matrix{n: data.Len() / k, k: k, data: data}
	wide, ok := data.(ints.Int32s)
	if !ok {
		return m
	}
	m.short, m.shifts = make([]int16, len(wide)), make([]uint8, m.n)
	parallel.For(m.n, max(1, taskWork/k), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			m.shifts[i] = shorten(m.short[i*k:][:k], wide[i*k:][:k])
		}
	})
	return m
}

// Part returns the matrix of n rows of m, the first of which is row from. It shares m's memory.
func (m *Matrix) Part(from, n int) *Matrix {
	p := &Matrix{n: n, k: m.k, data: m.data.Slice(from*m.k, (from+n)*m.k)}
	if m.short != nil {
		p.short, p.shifts = m.short[from*m.k:(from+n)*m.k], m.shifts[from:from+n]
	}
	return p
}

// shorten sets dst to the entries of src without the low bits that are zero in all of them, and returns the number of these bits, or
// tooWide if the entries then do not fit in 16 bits.
func shorten(dst []int16, src []int32) uint8 {
	var or, most uint32
	for _, x := range src {
		or |= uint32(x)
		most |= uint32(x ^ x>>31)
	}
	shift := bits.TrailingZeros32(or) % 32
	if bits.Len32(most)-shift > 15 {
		return tooWide
	}
	for i, x := range src {
		dst[i] = int16(x >> shift)
	}
	return uint8(shift)
}

// AddTimes adds coef·Σ_j m(i, j)·x[j] to dst[i] for every row i. Arithmetic is modulo 2^64. dst must have an entry for each row, and x
// one for each column.
func (m *Matrix) AddTimes(dst []int64, coef int64, x []int32) {
	dst, x = dst[:m.n], x[:m.k]
	v := newVector(x)
	switch data := m.data.(type) {
	case ints.Int8s:
		addTimes(dst, coef, v, data)
	case ints.Int16s:
		addTimes(dst, coef, v, data)
	case ints.Int32s:
		k := m.k
		parallel.For(m.n, max(1, dotWork/k), func(lo, hi int) {
			for i := lo; i < hi; i++ {
				if s := m.shifts[i]; s == tooWide {
					dst[i] += coef * intDot(x, data[i*k:][:k])
				} else {
					dst[i] += coef * (dotOf(v, m.short[i*k:][:k]) << s)
				}
			}
		})
	}
}

// addTimes is AddTimes for a matrix whose entries have 8 or 16 bits.
func addTimes[T int8 | int16](dst []int64, coef int64, v *vector, data []T) {
	k := len(v.wide)
	parallel.For(len(dst), max(1, dotWork/k), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			dst[i] += coef * dotOf(v, data[i*k:][:k])
		}
	})
}

// vector is the vector that a matrix is multiplied by, in 32 bits and, if its entries fit, also in 16 bits.
type vector struct {
	wide  []int32
	short []int16 // nil if some entry is not within ±(2^15 − 1)
	most  int64   // the greatest magnitude, at least 1
}

// newVector returns the vector x. It has 16-bit entries only if there is assembly that uses them.
func newVector(x []int32) *vector {
	v := &vector{wide: x, most: 1}
	if level == simd.None {
		return v
	}
	for _, e := range x {
		v.most = max(v.most, max(int64(e), -int64(e)))
	}
	if v.most > math.MaxInt16 {
		return v
	}
	v.short = make([]int16, len(x))
	narrow(v.short, x)
	return v
}

// dotOf returns the product of a vector and a row. Entries that pairDot does not take are multiplied in 64 bits.
func dotOf[T int8 | int16](v *vector, row []T) int64 {
	n, sum := 0, int64(0)
	if v.short != nil {
		n, sum = pairDot(v.short, row, v.most)
	}
	if n == len(row) {
		return sum
	}
	return sum + intDot(v.wide[n:], row[n:])
}

// pairRun returns how many sums of two products stay below 2^31 when they are added up. Each product is of a number of magnitude at most
// most and a signed number with the given number of bits, so a sum of two is at most 2·most·2^(bits−1).
func pairRun(most int64, bits int) uint64 { return uint64((1<<31 - 1) / (2 * most << (bits - 1))) }
