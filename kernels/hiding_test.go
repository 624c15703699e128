package kernels_test

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/prf"
)

// secret gives the elements of tests.
var secret = prf.Derive("test", []byte("secret"))

// In the stream of this row of tails, the word of that index is no element (TestWordInstead of package prf).
const insteadRow, insteadIndex = 89591, 1605

// elements are those of package prf.
func elements(use prf.Use, row, from uint64, n int) []field.M31 {
	v := make([]field.M31, n)
	secret.Elements(use, row, from, v)
	return v
}

func TestElements(t *testing.T) {
	d := devicetest.Open(t)
	for _, c := range []struct {
		use     prf.Use
		row     uint64
		from    uint64
		rows, n int
	}{
		{prf.Mask, 3, 0, 2, 64}, {prf.Tail, 0, 0, 300, 5}, {prf.Salt, 0, 8 * 1237, 1, 8 * 100}, {prf.Auxiliary, 1<<40 + 5, 31, 3, 2}, {prf.Tail, 1<<56 - 1, 16, 2, 16},
		{prf.Tail, insteadRow, insteadIndex - 3, 1, 7},
	} {
		dst := alloc[field.M31](t, d, c.rows*c.n)
		must(t, kernels.Elements(d, dst, &secret, c.use, c.row, c.from, c.rows, c.n))
		got := download[field.M31](t, d, dst, c.rows*c.n)
		for r := range c.rows {
			if want := elements(c.use, c.row+uint64(r), c.from, c.n); !slices.Equal(got[r*c.n:(r+1)*c.n], want) {
				t.Fatalf("%+v: row %d: %d, want %d", c, r, got[r*c.n:(r+1)*c.n], want)
			}
		}
	}
	if kernels.Elements(d, 256, &secret, prf.Tail, 0, 1<<36, 1, 1) == nil || kernels.Elements(d, 256, &secret, prf.Tail, 0, 0, 1, 0) == nil {
		t.Error("no element, or one that is too far")
	}
}

// TestTailRows: planes add up to tails, whose bytes are signed and lack nothing.
func TestTailRows(t *testing.T) {
	d := devicetest.Open(t)
	for _, c := range []struct{ row, rows, n, pitch int }{{0, 3, 100, 128}, {5, 2, 64, 64}, {1, 1, 1, 64}, {insteadRow, 1, insteadIndex + 3, (insteadIndex + 128) &^ 63}} {
		size := kernels.TailPlanes * c.rows * c.pitch
		dst := upload(t, d, hostileBytes(rand.New(rand.NewPCG(1, 1)), size, c.pitch))
		must(t, kernels.TailRows(d, dst, &secret, uint64(c.row), c.rows, c.n, c.pitch))
		got := download[int8](t, d, dst, size)
		for r := range c.rows {
			want := elements(prf.Tail, uint64(c.row+r), 0, c.n)
			for i := range c.pitch {
				var sum int64
				for p := range kernels.TailPlanes {
					sum += int64(got[(kernels.TailPlanes*r+p)*c.pitch+i]) << (8 * p)
				}
				if i >= c.n && sum != 0 || i < c.n && field.FromInt64(sum) != want[i] {
					t.Fatalf("%+v: element %d of row %d is %d", c, i, r, sum)
				}
			}
		}
	}
	if kernels.TailRows(d, 256, &secret, 0, 1, 65, 64) == nil || kernels.TailRows(d, 256, &secret, 0, 1, 1, 8) == nil {
		t.Error("a pitch that is too small, or odd")
	}
}

// TestAddTails: rows with tails added for one part of their codewords after the other are encoded as package code has it.
func TestAddTails(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(51, 52))
	for _, c := range []struct{ vars, blowup, tail, rows int }{{4, 2, 3, 3}, {6, 1, 16, 2}, {13, 2, 100, 2}, {0, 2, 1, 1}} {
		domain := c.vars + c.blowup
		values := make([]int32, c.rows<<c.vars)
		for i := range values {
			values[i] = int32(rng.Uint32()) >> (1 + i%30)
		}
		at, tails := upload(t, d, values), alloc[field.M31](t, d, c.rows*c.tail)
		must(t, kernels.Elements(d, tails, &secret, prf.Tail, 7, 0, c.rows, c.tail))
		twiddles, part := alloc[uint32](t, d, 1<<domain), alloc[field.M31](t, d, c.rows<<c.vars)
		must(t, kernels.Twiddles(d, twiddles, domain))
		var added field.M31
		points := code.NewDomain(c.blowup)
		for k := range 1 << c.blowup {
			tau := points.Point(uint64(k))
			must(t, kernels.AddTails(d, at, tails, c.vars, c.tail, c.rows, tau.Sub(added)))
			added = tau
			must(t, kernels.EncodePart(d, part, at, twiddles, c.rows, c.vars, domain, k))
			got := download[field.M31](t, d, part, c.rows<<c.vars)
			for r := range c.rows {
				coeffs, want := make([]field.M31, 1<<c.vars), make([]field.M31, 1<<domain)
				field.FromInt32Vec(coeffs, values[r<<c.vars:(r+1)<<c.vars])
				code.EncodeTail(want, coeffs, elements(prf.Tail, uint64(7+r), 0, c.tail))
				if !slices.Equal(got[r<<c.vars:(r+1)<<c.vars], want[k<<c.vars:(k+1)<<c.vars]) {
					t.Fatalf("%+v: part %d of row %d is another", c, k, r)
				}
			}
		}
	}
	if kernels.AddTails(d, 256, 256, 2, 5, 1, 1) == nil {
		t.Error("a tail that is longer than the row")
	}
}

func TestJoinTails(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(53, 54))
	for _, c := range []struct{ vars, shift int }{{3, 0}, {4, 2}, {0, 5}, {8, 1}} {
		n := 1 << (c.vars + c.shift)
		src, old := vectorQM31(rng, n, 1), vectorQM31(rng, n, 2)
		dst := upload(t, d, old)
		must(t, kernels.JoinTails(d, dst, upload(t, d, src), c.vars, c.shift))
		for i, v := range download[field.QM31](t, d, dst, n) {
			if want := old[i].Add(src[rowOf(i, c.shift)<<c.vars|i>>c.shift]); v != want {
				t.Fatalf("%+v: element %d is %v, want %v", c, i, v, want)
			}
		}
	}
}

// rowOf is the number of the row of a tree that has value i of one that 2^shift of them make.
func rowOf(i, shift int) int {
	return int(bits.Reverse64(uint64(i)&(1<<shift-1)) >> (64 - shift) & (1<<shift - 1))
}

func TestAuxiliaryRow(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(55, 56))
	for _, c := range []struct{ vars, shift, tail, given int }{{8, 0, 3, 16}, {6, 2, 16, 100}, {0, 1, 1, 2}, {12, 0, 64, 8}} {
		n := 1 << (c.vars + c.shift)
		f, q, u, folded := vectorQM31(rng, n, 1), vectorQM31(rng, n, 2), vectorQM31(rng, c.given, 3), vectorQM31(rng, n, 4)
		a, tail := make([]field.M31, n), make([]field.M31, n) // as they lie in the table's row
		values, tails := vectorM31(rng, n, 5), vectorM31(rng, c.tail<<c.shift, 6)
		for i := range n {
			row, at := rowOf(i, c.shift), i>>c.shift
			a[i] = values[row<<c.vars|at]
			if at < c.tail {
				tail[i] = tails[row*c.tail+at]
			}
		}
		minus := make([]field.QM31, n)
		copy(minus, u)
		for i := range minus {
			minus[i] = minus[i].Neg()
		}
		var zero, top field.QM31
		for i := range n {
			zero = zero.Add(f[i].Mul(q[i]))
			top = top.Add(field.FromM31(a[i]).Sub(f[i]).Mul(minus[i].Sub(q[i])))
		}
		row := kernels.AuxiliaryRow{Values: upload(t, d, values), Tails: upload(t, d, tails), RowVars: c.vars, Shift: c.shift, Tail: c.tail}
		fs, qs, us, sums := upload(t, d, f), upload(t, d, q), upload(t, d, u), upload(t, d, make([]uint64, 2*kernels.SumWords))
		must(t, row.Round(d, fs, qs, us, c.given, kernels.Kept(sums)))
		words := download[uint64](t, d, sums, 2*kernels.SumWords)
		if kernels.FromSum(words) != zero || kernels.FromSum(words[kernels.SumWords:]) != top {
			t.Fatalf("%+v: another round", c)
		}
		r := vectorQM31(rng, 1, 9)[0]
		newF, newQ := upload(t, d, append(make([]field.QM31, n), folded...)), alloc[field.QM31](t, d, 2*n)
		must(t, row.Bind(d, newF, newQ, fs, qs, us, c.given, r))
		keep := field.One.Sub(r)
		gotF, gotQ := download[field.QM31](t, d, newF, 2*n), download[field.QM31](t, d, newQ, 2*n)
		for i := range n {
			if gotF[i] != f[i].Mul(keep).Add(r.MulM31(a[i])) || gotQ[i] != q[i].Mul(keep).Add(r.Mul(minus[i])) {
				t.Fatalf("%+v: another entry %d", c, i)
			}
			if gotF[n+i] != folded[i].Mul(keep).Add(r.MulM31(tail[i])) || !gotQ[n+i].IsZero() {
				t.Fatalf("%+v: another entry %d of the tail", c, i)
			}
		}
		row.Tail = n + 1
		if row.Round(d, fs, qs, us, c.given, kernels.Kept(sums)) == nil {
			t.Error("a tail that is longer than the row")
		}
	}
}
