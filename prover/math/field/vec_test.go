package field

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// maxLen is the longest vector each operation is tested on: every length up
// to it, so that any number of whole blocks and any tail occurs.
const maxLen = 70

// sampleM31 returns a fixed sequence in which the extremes are common.
func sampleM31(i int) M31 {
	switch i % 7 {
	case 2:
		return 0
	case 3, 4:
		return P - 1
	}
	return FromInt64(int64(i+1) * 0x9e3779b97f4a7c1)
}

func sampleM31s(n, seed int) []M31 {
	v := make([]M31, n)
	for i := range v {
		v[i] = sampleM31(i + 1000*seed)
	}
	return v
}

func sampleQM31(i int) QM31 {
	return NewQM31(sampleM31(4*i), sampleM31(4*i+1), sampleM31(4*i+2), sampleM31(4*i+3))
}

func sampleQM31s(n, seed int) []QM31 {
	v := make([]QM31, n)
	for i := range v {
		v[i] = sampleQM31(i + 1000*seed)
	}
	return v
}

func sampleInt32s(n, seed int) []int32 {
	v := make([]int32, n)
	for i := range v {
		switch (i + seed) % 5 {
		case 0:
			v[i] = math.MinInt32
		case 1:
			v[i] = math.MaxInt32
		case 2:
			v[i] = -int32(i)
		default:
			v[i] = int32(uint32(sampleM31(i+1000*seed)) << 1)
		}
	}
	return v
}

// scalars are multipliers worth trying: the extremes and something ordinary.
var scalars = []QM31{
	Zero, One, FromM31(P - 1), NewQM31(P-1, P-1, P-1, P-1),
	NewQM31(0, P-1, 0, P-1), NewQM31(123456789, 2023406814, 5, 1999999999),
}

func checkQM31s(t *testing.T, name string, got, want []QM31) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s, length %d: element %d is %v, want %v", name, len(want), i, got[i], want[i])
		}
	}
}

func checkM31s(t *testing.T, name string, got, want []M31) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s, length %d: element %d is %v, want %v", name, len(want), i, got[i], want[i])
		}
	}
}

func TestM31Vectors(t *testing.T) { atEachLevel(t, testM31Vectors) }

func testM31Vectors(t *testing.T) {
	for n := range maxLen + 1 {
		a, b, want := sampleM31s(n, 1), sampleM31s(n, 2), make([]M31, n)
		ops := []struct {
			name   string
			vector func(dst, a, b []M31)
			scalar func(a, b M31) M31
		}{
			{"AddVec", AddVec, M31.Add},
			{"SubVec", SubVec, M31.Sub},
			{"MulVec", MulVec, M31.Mul},
			{"ScaleVec", func(dst, a, b []M31) { ScaleVec(dst, a, 2147000000) }, func(a, b M31) M31 { return a.Mul(2147000000) }},
			{"ScaleVec by −1", func(dst, a, b []M31) { ScaleVec(dst, a, P-1) }, func(a, b M31) M31 { return a.Neg() }},
		}
		for _, op := range ops {
			for i := range want {
				want[i] = op.scalar(a[i], b[i])
			}
			dst := make([]M31, n)
			op.vector(dst, a, b)
			checkM31s(t, op.name, dst, want)
			copy(dst, a)
			op.vector(dst, dst, b)
			checkM31s(t, op.name+" in place", dst, want)
		}
		src := sampleInt32s(n, 3)
		dst := make([]M31, n)
		FromInt32Vec(dst, src)
		for i := range want {
			want[i] = FromInt64(int64(src[i]))
		}
		checkM31s(t, "FromInt32Vec", dst, want)
	}
}

// TestAllPairsOfExtremes puts every pair of critical values into every lane.
func TestAllPairsOfExtremes(t *testing.T) { atEachLevel(t, testAllPairsOfExtremes) }

func testAllPairsOfExtremes(t *testing.T) {
	values := []M31{0, 1, 2, P / 2, P/2 + 1, P - 2, P - 1, 1 << 16, 1<<30 - 1, 1 << 30}
	var a, b []M31
	for _, x := range values {
		for _, y := range values {
			for range 17 {
				a, b = append(a, x), append(b, y)
			}
		}
	}
	dst, want := make([]M31, len(a)), make([]M31, len(a))
	AddVec(dst, a, b)
	for i := range want {
		want[i] = a[i].Add(b[i])
	}
	checkM31s(t, "AddVec", dst, want)
	SubVec(dst, a, b)
	for i := range want {
		want[i] = a[i].Sub(b[i])
	}
	checkM31s(t, "SubVec", dst, want)
	MulVec(dst, a, b)
	for i := range want {
		want[i] = a[i].Mul(b[i])
	}
	checkM31s(t, "MulVec", dst, want)
}

func TestQM31Vectors(t *testing.T) { atEachLevel(t, testQM31Vectors) }

func testQM31Vectors(t *testing.T) {
	for n := range maxLen + 1 {
		a, b := sampleQM31s(n, 1), sampleQM31s(n, 2)
		base, ints := sampleM31s(n, 3), sampleInt32s(n, 4)
		dst, want := make([]QM31, n), make([]QM31, n)

		MulQM31Vec(dst, a, b)
		for i := range want {
			want[i] = a[i].Mul(b[i])
		}
		checkQM31s(t, "MulQM31Vec", dst, want)
		copy(dst, a)
		MulQM31Vec(dst, dst, b)
		checkQM31s(t, "MulQM31Vec in place", dst, want)

		var dot, dotBase, dotInt QM31
		for i := range a {
			dot = dot.Add(a[i].Mul(b[i]))
			dotBase = dotBase.Add(a[i].MulM31(base[i]))
			dotInt = dotInt.Add(a[i].MulM31(FromInt64(int64(ints[i]))))
		}
		checkQM31s(t, "Dot", []QM31{Dot(a, b)}, []QM31{dot})
		checkQM31s(t, "DotM31", []QM31{DotM31(base, a)}, []QM31{dotBase})
		checkQM31s(t, "DotInt32", []QM31{DotInt32(ints, a)}, []QM31{dotInt})

		for _, s := range scalars {
			copy(dst, a)
			MulAccVec(dst, base, s)
			for i := range want {
				want[i] = a[i].Add(s.MulM31(base[i]))
			}
			checkQM31s(t, "MulAccVec", dst, want)

			copy(dst, a)
			MulAccInt32Vec(dst, ints, s)
			for i := range want {
				want[i] = a[i].Add(s.MulM31(FromInt64(int64(ints[i]))))
			}
			checkQM31s(t, "MulAccInt32Vec", dst, want)

			SubInt32Vec(dst, ints, s)
			for i := range want {
				want[i] = s.Sub(FromM31(FromInt64(int64(ints[i]))))
			}
			checkQM31s(t, "SubInt32Vec", dst, want)
		}
		EmbedVec(dst, base)
		for i := range want {
			want[i] = FromM31(base[i])
		}
		checkQM31s(t, "EmbedVec", dst, want)
	}
}

func TestFolds(t *testing.T) { atEachLevel(t, testFolds) }

func testFolds(t *testing.T) {
	for h := range maxLen + 1 {
		src, base := sampleQM31s(2*h, 5), sampleM31s(2*h, 6)
		dst, want := make([]QM31, h), make([]QM31, h)
		for _, r := range scalars {
			for i := range want {
				want[i] = src[i].Add(r.Mul(src[i+h].Sub(src[i])))
			}
			FoldVec(dst, src, r)
			checkQM31s(t, "FoldVec", dst, want)
			table := append([]QM31(nil), src...)
			FoldVec(table[:h], table, r)
			checkQM31s(t, "FoldVec in place", table[:h], want)

			for i := range want {
				want[i] = FromM31(base[i]).Add(r.Mul(FromM31(base[i+h].Sub(base[i]))))
			}
			FoldM31Halves(dst, base[:h], base[h:], r)
			checkQM31s(t, "FoldM31Halves", dst, want)
		}
	}
}

// TestLongSums goes through many reductions of the accumulators, with the
// greatest products there are.
func TestLongSums(t *testing.T) { atEachLevel(t, testLongSums) }

func testLongSums(t *testing.T) {
	const n = 5000
	top := NewQM31(P-1, P-1, P-1, P-1)
	w, base, ints := make([]QM31, n), make([]M31, n), make([]int32, n)
	for i := range w {
		w[i], base[i], ints[i] = top, P-1, math.MinInt32+1 // −p, so 0
	}
	count := FromM31(n)
	checkQM31s(t, "Dot", []QM31{Dot(w, w)}, []QM31{top.Mul(top).Mul(count)})
	checkQM31s(t, "DotM31", []QM31{DotM31(base, w)}, []QM31{top.MulM31(P - 1).Mul(count)})
	checkQM31s(t, "DotInt32", []QM31{DotInt32(ints, w)}, []QM31{Zero})
	for i := range ints {
		ints[i] = -(P - 1)
	}
	checkQM31s(t, "DotInt32", []QM31{DotInt32(ints, w)}, []QM31{top.Mul(count)})
	zeros := make([]QM31, n)
	full := Halves{w, zeros} // differences are −top
	cube := top.Mul(top).Mul(top).Mul(count)
	zero, lead := RoundSums(full, full)
	checkQM31s(t, "RoundSums", []QM31{zero, lead}, []QM31{top.Mul(top).Mul(count), top.Mul(top).Mul(count)})
	zero, lead = RoundSumsWeighted(w, full, full)
	checkQM31s(t, "RoundSumsWeighted", []QM31{zero, lead}, []QM31{cube, cube})
	zero, lead = FractionRoundSums(w, full, full, full, full)
	checkQM31s(t, "FractionRoundSums", []QM31{zero, lead}, []QM31{cube.Double(), cube.Double()})
}

func TestEqTable(t *testing.T) { atEachLevel(t, testEqTable) }

func testEqTable(t *testing.T) {
	for n := range 8 {
		r := sampleQM31s(n, 9)
		scale := sampleQM31(77)
		dst := make([]QM31, 1<<n)
		EqTableInto(dst, r, scale)
		for i := range dst {
			want := scale
			for j := range r {
				if i>>(n-1-j)&1 == 1 {
					want = want.Mul(r[j])
				} else {
					want = want.Mul(One.Sub(r[j]))
				}
			}
			if dst[i] != want {
				t.Fatalf("n = %d: entry %d is %v, want %v", n, i, dst[i], want)
			}
		}
	}
}

// TestEqTableLarge reaches the size at which steps are shared between cores:
// the entries sum to the scale.
func TestEqTableLarge(t *testing.T) { atEachLevel(t, testEqTableLarge) }

func testEqTableLarge(t *testing.T) {
	r := sampleQM31s(16, 10)
	dst := make([]QM31, 1<<16)
	EqTableInto(dst, r, scalars[5])
	var sum QM31
	for _, v := range dst {
		sum = sum.Add(v)
	}
	if sum != scalars[5] {
		t.Fatalf("sum %v, want %v", sum, scalars[5])
	}
}

func TestBatchInvert(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(rapid.OneOf(genQM31(), rapid.Just(Zero)), 0, 20).Draw(t, "a")
		got := append([]QM31(nil), a...)
		BatchInvert(got)
		for i := range a {
			if got[i] != a[i].Inv() {
				t.Fatalf("element %d: %v, want %v", i, got[i], a[i].Inv())
			}
		}
	})
}

func TestMismatchedLengthsPanic(t *testing.T) {
	m, q, n := make([]M31, 3), make([]QM31, 3), make([]int32, 3)
	misuse := map[string]func(){
		"AddVec":         func() { AddVec(m, m, m[:2]) },
		"SubVec":         func() { SubVec(m[:2], m, m) },
		"MulVec":         func() { MulVec(m, m[:2], m) },
		"ScaleVec":       func() { ScaleVec(m, m[:2], 1) },
		"FromInt32Vec":   func() { FromInt32Vec(m, n[:2]) },
		"MulQM31Vec":     func() { MulQM31Vec(q, q, q[:2]) },
		"FoldVec":        func() { FoldVec(q[:1], q, One) },
		"FoldM31Halves":  func() { FoldM31Halves(q[:1], m[:1], m, One) },
		"MulAccVec":      func() { MulAccVec(q, m[:2], One) },
		"MulAccInt32Vec": func() { MulAccInt32Vec(q, n[:2], One) },
		"EmbedVec":       func() { EmbedVec(q, m[:2]) },
		"SubInt32Vec":    func() { SubInt32Vec(q, n[:2], One) },
		"Dot":            func() { Dot(q, q[:2]) },
		"DotM31":         func() { DotM31(m[:2], q) },
		"DotInt32":       func() { DotInt32(n[:2], q) },
		"EqTableInto":    func() { EqTableInto(q, q[:2], One) },
	}
	for name, f := range misuse {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Fatal("no panic")
				}
			}()
			f()
		})
	}
}

// TestProductsOfK compares products with the schoolbook over critical limbs
// in every position.
func TestProductsOfK(t *testing.T) { atEachLevel(t, productsOfK) }

func productsOfK(t *testing.T) {
	const n = 8
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(genQM31(), n, n).Draw(t, "a")
		b := rapid.SliceOfN(genQM31(), n, n).Draw(t, "b")
		dst := make([]QM31, n)
		MulQM31Vec(dst, a, b)
		for i := range dst {
			if want := mulBySchoolbook(a[i], b[i]); dst[i] != want {
				t.Fatalf("%v · %v = %v, want %v", a[i], b[i], dst[i], want)
			}
		}
		FoldVec(dst[:n/2], a, b[0])
		for i := range n / 2 {
			want := a[i].Add(mulBySchoolbook(b[0], a[i+n/2].Sub(a[i])))
			if dst[i] != want {
				t.Fatalf("fold of %v, %v at %v is %v, want %v", a[i], a[i+n/2], b[0], dst[i], want)
			}
		}
	})
}
