package matmul

import (
	"fmt"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/ints"
)

// Number is the constraint for types of entries.
type Number interface {
	ints.Integer | float32 | float64
}

// Operand is one side of a batch of products of matrices: entry (b, i, k) is
// Data[Batch[b]+Free[i]+K[k]]. Out[i] is the offset of index i in the result.
type Operand[T Number] struct {
	Data                []T
	Batch, Free, K, Out []int
}

// Int adds coef·Σ_k A(b, i, k)·B(b, j, k) to dst[out[b]+A.Out[i]+B.Out[j]] for
// all b, i and j. No two of these may be the same entry of dst. Arithmetic is modulo
// 2^64. It panics if lengths do not match.
func Int[A, B ints.Integer](dst []int64, coef int64, out []int, a Operand[A], b Operand[B]) {
	check(out, a, b)
	if swapped(a, b) {
		products(dst, coef, out, b, a)
	} else {
		products(dst, coef, out, a, b)
	}
}

// products is Int with the operands in the order that swapped has chosen. It chooses the kernel by the numbers of rows and columns and by
// their widths.
func products[A, B ints.Integer](dst []int64, coef int64, out []int, rows Operand[A], columns Operand[B]) {
	if len(rows.Free) < fewRows && consecutive(columns.K) {
		dots(dst, coef, out, rows, columns)
		return
	}
	if most, ok := inPairs(rows, columns); ok {
		multiplyPairs(dst, coef, out, rows, columns, most)
		return
	}
	switch {
	case inDots(rows, columns):
		dots(dst, coef, out, rows, columns)
		return
	case inDots(columns, rows):
		dots(dst, coef, out, columns, rows)
		return
	}
	multiply(dst, coef, out, rows, columns, intRows[int32], intRows[B])
}

// Float adds Σ_k A(b, i, k)·B(b, j, k), in float64, to dst as Int does.
// Products are rounded before they are added, and added in the order of k.
func Float[A, B float32 | float64](dst []float64, out []int, a Operand[A], b Operand[B]) {
	check(out, a, b)
	if swapped(a, b) {
		multiply(dst, 1, out, b, a, floatRows, direct[A]())
	} else {
		multiply(dst, 1, out, a, b, floatRows, direct[B]())
	}
}

// direct returns the kernel that reads columns of type T without a copy: floatRows if T is float64, else nil.
func direct[T float32 | float64]() func(s, x []float64, rows []T, stride int) {
	f, _ := any(floatRows).(func([]float64, []float64, []T, int))
	return f
}

// swapped reports whether b should be the rows and a the columns. A side with few indices
// becomes the rows, whatever its layout: a row is cheap to copy. Otherwise the rows should
// have adjacent K, and there should be many of them, because the columns are copied.
func swapped[A, B Number](a Operand[A], b Operand[B]) bool {
	m, n := len(a.Free), len(b.Free)
	if min(m, n) < fewRows {
		return n < m
	}
	ka, kb := consecutive(a.K), consecutive(b.K)
	if ka != kb {
		return kb
	}
	return ka && n > m || !ka && n < m
}

// check panics if the lengths of the operands' tables do not match.
func check[A, B Number](out []int, a Operand[A], b Operand[B]) {
	if len(a.Batch) != len(out) || len(b.Batch) != len(out) || len(a.K) != len(b.K) ||
		len(a.Free) != len(a.Out) || len(b.Free) != len(b.Out) {
		panic(fmt.Sprintf("matmul: %d, %d and %d batches, %d and %d indices to sum over",
			len(out), len(a.Batch), len(b.Batch), len(a.K), len(b.K)))
	}
}

// consecutive reports whether each offset is the one before plus 1.
func consecutive(offsets []int) bool {
	for i, o := range offsets {
		if o != offsets[0]+i {
			return false
		}
	}
	return true
}

// fewRows is the least number of rows for which copying the columns pays.
const fewRows = 4

// If there are fewer than dotRows rows, of at least dotDepth entries, each is multiplied with each column
// (dots).
const (
	dotRows  = 24
	dotDepth = 256
)

// inDots reports whether it pays to multiply each row with each column (dots).
func inDots[A, B ints.Integer](rows Operand[A], columns Operand[B]) bool {
	return len(rows.Free) < dotRows && len(columns.K) >= dotDepth && consecutive(columns.K)
}

// taskWork is the least number of multiplications that one goroutine does; dotWork is that for
// dots.
const (
	taskWork = 1 << 16
	dotWork  = 1 << 15
)

// dots is Int for few rows, and columns with adjacent K.
func dots[A, B ints.Integer](dst []int64, coef int64, out []int, rows Operand[A], columns Operand[B]) {
	k, n := len(rows.K), len(columns.Free)
	work := max(1, k*len(rows.Free))
	dot := dotWith[B]()
	wide, _ := any(rows.Data).([]int32) // the data of rows if these can be read in place; nil if they are copied to x
	if k == 0 || !consecutive(rows.K) {
		wide = nil
	}
	parallel.For(len(out)*n, max(1, dotWork/work), func(lo, hi int) {
		var x []int32
		if wide == nil {
			x = make([]int32, k)
		}
		for t := lo; t < hi; {
			b := t / n
			end := min(hi, (b+1)*n)
			for i, free := range rows.Free {
				if wide != nil {
					x = wide[rows.Batch[b]+free+rows.K[0]:][:k]
				} else {
					gather(x, rows.Data[rows.Batch[b]+free:], rows.K)
				}
				if k == 0 {
					continue
				}
				from, to := columns.Batch[b]+columns.K[0], out[b]+rows.Out[i]
				for j := t % n; j < end-b*n; j++ {
					dst[to+columns.Out[j]] += coef * dot(x, columns.Data[from+columns.Free[j]:][:k])
				}
			}
			t = end
		}
	})
}

// gather sets dst[i] = src[offsets[i]].
func gather[D, S Number](dst []D, src []S, offsets []int) {
	for i, o := range offsets {
		dst[i] = D(src[o])
	}
}

// convert copies src to dst, which has the same length.
func convert[D, S Number](dst []D, src []S) {
	if dst, ok := any(dst).([]int32); ok {
		switch src := any(src).(type) {
		case []int8:
			ints.Widen(dst, src)
			return
		case []int16:
			ints.Widen(dst, src)
			return
		case []int32:
			copy(dst, src)
			return
		}
	}
	for i, x := range src[:len(dst)] {
		dst[i] = D(x)
	}
}
