package field

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// genM31 draws a field element, the extremes often.
func genM31() *rapid.Generator[M31] {
	return rapid.OneOf(
		rapid.SampledFrom([]M31{0, 1, 2, P / 2, P/2 + 1, P - 2, P - 1}),
		rapid.Map(rapid.Uint32Range(0, P-1), func(v uint32) M31 { return M31(v) }),
	)
}

func genQM31() *rapid.Generator[QM31] {
	return rapid.Custom(func(t *rapid.T) QM31 {
		l := rapid.SliceOfN(genM31(), 4, 4).Draw(t, "limbs")
		return NewQM31(l[0], l[1], l[2], l[3])
	})
}

// mod returns v mod p through math/big.
func mod(v *big.Int) M31 {
	return M31(new(big.Int).Mod(v, big.NewInt(P)).Int64())
}

func TestM31MatchesBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genM31().Draw(t, "a"), genM31().Draw(t, "b")
		k := rapid.UintRange(0, 30).Draw(t, "k")
		x, y := big.NewInt(int64(a)), big.NewInt(int64(b))
		check := func(name string, got M31, want *big.Int) {
			if got != mod(want) {
				t.Fatalf("%s: got %d, want %d", name, got, mod(want))
			}
		}
		check("Add", a.Add(b), new(big.Int).Add(x, y))
		check("Sub", a.Sub(b), new(big.Int).Sub(x, y))
		check("Mul", a.Mul(b), new(big.Int).Mul(x, y))
		check("Square", a.Square(), new(big.Int).Mul(x, x))
		check("Neg", a.Neg(), new(big.Int).Neg(x))
		check("Double", a.Double(), new(big.Int).Lsh(x, 1))
		check("Mul2Exp", a.Mul2Exp(k), new(big.Int).Lsh(x, k))
		check("Div2Exp", a.Div2Exp(k).Mul2Exp(k), x)
		check("Exp", a.Exp(uint64(b)), new(big.Int).Exp(x, y, big.NewInt(P)))
		if a != 0 && a.Mul(a.Inv()) != 1 {
			t.Fatalf("%d · Inv = %d", a, a.Mul(a.Inv()))
		}
		if FromInt64(a.Int64()) != a {
			t.Fatalf("Int64(%d) = %d", a, a.Int64())
		}
	})
	if M31(0).Inv() != 0 {
		t.Fatal("Inv(0) is not 0")
	}
	if got := M31(5).Div2Exp(31); got != 5 {
		t.Fatalf("5/2^31 = %d, want 5 as 2^31 = 1", got)
	}
}

func TestFromIntegers(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, v int64) {
		want := mod(big.NewInt(v))
		if got := FromInt64(v); got != want {
			t.Fatalf("FromInt64(%d) = %d, want %d", v, got, want)
		}
		if v == int64(int32(v)) {
			if got := FromInt32(int32(v)); got != want {
				t.Fatalf("FromInt32(%d) = %d, want %d", v, got, want)
			}
		}
		if v >= 0 {
			if got := Reduce64(uint64(v)); got != want {
				t.Fatalf("Reduce64(%d) = %d, want %d", v, got, want)
			}
		}
	}
	for _, c := range []int64{0, P, 2 * P, math.MinInt32, math.MaxInt32, math.MinInt64, math.MaxInt64, 1 << 62, -P, -2 * P} {
		for d := int64(-3); d <= 3; d++ {
			check(t, c+d) // wrap-around at the ends is an input like any other
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.Int64().Draw(t, "v"))
		check(t, int64(rapid.Int32().Draw(t, "v32")))
	})
	for _, v := range []uint64{math.MaxUint64, math.MaxUint64 - 1, 4 * P * P} {
		if got, want := Reduce64(v), mod(new(big.Int).SetUint64(v)); got != want {
			t.Fatalf("Reduce64(%d) = %d, want %d", v, got, want)
		}
	}
}

// mulBySchoolbook multiplies polynomials in i and u with big integers and
// reduces by i² = −1, u² = 2 + i.
func mulBySchoolbook(a, b QM31) QM31 {
	x, y := a.Limbs(), b.Limbs()
	var c [4]*big.Int
	for i := range c {
		c[i] = new(big.Int)
	}
	add := func(limb int, v *big.Int, times int64) {
		c[limb].Add(c[limb], new(big.Int).Mul(v, big.NewInt(times)))
	}
	for s, av := range x {
		for t, bv := range y {
			v := new(big.Int).Mul(big.NewInt(int64(av)), big.NewInt(int64(bv)))
			imag, upper := s%2+t%2, s/2+t/2 // powers of i and of u
			sign := int64(1)
			if imag == 2 {
				imag, sign = 0, -1
			}
			switch {
			case upper < 2:
				add(2*upper+imag, v, sign)
			case imag == 0: // (2 + i)·1
				add(0, v, 2*sign)
				add(1, v, sign)
			default: // (2 + i)·i = −1 + 2i
				add(0, v, -sign)
				add(1, v, 2*sign)
			}
		}
	}
	return NewQM31(mod(c[0]), mod(c[1]), mod(c[2]), mod(c[3]))
}

func TestQM31(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := genQM31().Draw(t, "a"), genQM31().Draw(t, "b"), genQM31().Draw(t, "c")
		s := genM31().Draw(t, "s")
		equal := func(name string, got, want QM31) {
			if got != want {
				t.Fatalf("%s: got %v, want %v", name, got, want)
			}
		}
		equal("Mul", a.Mul(b), mulBySchoolbook(a, b))
		equal("Square", a.Square(), mulBySchoolbook(a, a))
		equal("distributive", a.Mul(b.Add(c)), a.Mul(b).Add(a.Mul(c)))
		equal("Sub", a.Sub(b).Add(b), a)
		equal("Neg", a.Add(a.Neg()), Zero)
		equal("Double", a.Double(), a.Add(a))
		equal("MulM31", a.MulM31(s), a.Mul(FromM31(s)))
		equal("AddM31", a.AddM31(s), a.Add(FromM31(s)))
		equal("Exp", a.Exp(5), a.Mul(a).Mul(a).Mul(a).Mul(a))
		if !a.IsZero() {
			equal("Inv", a.Mul(a.Inv()), One)
		}
		if !a.C0.Inv().Mul(a.C0).Sub(CM31{1, 0}).Mul(a.C0).isZero() {
			t.Fatalf("CM31 inverse of %v", a.C0)
		}
	})
	inv := Zero.Inv()
	if !inv.IsZero() {
		t.Fatal("Inv(0) is not 0")
	}
}

func (a CM31) isZero() bool { return a == CM31{} }
