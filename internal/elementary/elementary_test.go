package elementary

import (
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

var full = flag.Bool("full", false, "try several times as many arguments; make full does")

// function is one function with what it must agree with.
type function struct {
	name   string
	at     func(float64) float64
	big    func(*big.Float) *big.Float
	std    func(float64) float64 // for special cases
	lo, hi float64               // where it is tested
}

var inf = math.Inf(1)

var tested = []function{
	{"Exp", Exp, bigExp, math.Exp, -708, 709.78},
	{"Expm1", Expm1, bigExpm1, math.Expm1, -60, 709.78},
	{"Sinh", Sinh, bigSinh, math.Sinh, -710.4, 710.4},
	{"Cosh", Cosh, bigCosh, math.Cosh, -710.4, 710.4},
	{"Tanh", Tanh, bigTanh, math.Tanh, -30, 30},
	{"Log", Log, bigLog, math.Log, 0, math.MaxFloat64},
	{"Log1p", Log1p, bigLog1p, math.Log1p, -1, math.MaxFloat64},
	{"Asinh", Asinh, bigAsinh, math.Asinh, -math.MaxFloat64, math.MaxFloat64},
	{"Acosh", Acosh, bigAcosh, math.Acosh, 1, math.MaxFloat64},
	{"Atanh", Atanh, bigArtanh, math.Atanh, -1, 1},
	{"Sin", Sin, bigSin, math.Sin, -math.MaxFloat64, math.MaxFloat64},
	{"Cos", Cos, bigCos, math.Cos, -math.MaxFloat64, math.MaxFloat64},
	{"Tan", Tan, bigTan, math.Tan, -math.MaxFloat64, math.MaxFloat64},
	{"Asin", Asin, bigAsin, math.Asin, -1, 1},
	{"Acos", Acos, bigAcos, math.Acos, -1, 1},
	{"Atan", Atan, bigAtan, math.Atan, -math.MaxFloat64, math.MaxFloat64},
	{"Erf", Erf, bigErf, math.Erf, -7, 7},
}

// arguments are points of [lo, hi] of every magnitude, and around those where
// functions change.
func arguments(lo, hi float64, n int) []float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	var x []float64
	add := func(v float64) {
		if v > lo && v < hi && v != 0 {
			x = append(x, v)
		}
	}
	for _, v := range []float64{
		0x1p-1022, 0x1p-1000, tiny, small, 0x1p-30, 0x1p-7, 1.0 / 64, 1.0 / 16, math.Ln2 / 128, leastMantissa, math.Pi / 4, 1, math.Sqrt2,
		math.Pi / 2, math.Pi, 6, 22, 40, 100, 700, 1000 * math.Pi, 0x1p40, 0x1p60, 0x1p100, 0x1p1000,
		6381956970095103 * 0x1p797, // the hardest to reduce (Kahan)
	} {
		for _, s := range []float64{1, -1} {
			add(s * v)
			add(s * math.Nextafter(v, 0))
			add(s * math.Nextafter(v, inf))
		}
	}
	for range n {
		sign := float64(1 - 2*rng.IntN(2))
		add(sign * rng.Float64() * 2)
		add(sign * rng.Float64() * 40)
		add(sign * rng.Float64() * 800)
		add(1 + sign*math.Ldexp(rng.Float64(), -rng.IntN(50)))
		add(sign * math.Ldexp(1+rng.Float64(), rng.IntN(2046)-1022))
	}
	return x
}

// ulps is how far got is from want in units of the last place of want.
func ulps(got float64, want *big.Float) float64 {
	if want.Sign() == 0 {
		return math.Abs(got) * inf
	}
	unit := math.Ldexp(1, max(want.MantExp(nil)-53, -1074))
	d, _ := over(minus(num(got), want), num(unit)).Float64()
	return math.Abs(d)
}

// TestError holds every function against its value to hundreds of digits.
func TestError(t *testing.T) {
	n := 40
	if *full {
		n = 150
	}
	for _, f := range tested {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			worst, at := 0.0, 0.0
			for _, x := range arguments(f.lo, f.hi, n) {
				if e := ulps(f.at(x), f.big(num(x))); !(e <= worst) {
					worst, at = e, x
				}
			}
			t.Logf("at most %.6f units in the last place, at %v", worst, at)
			if !(worst <= 0.501) {
				t.Errorf("off by %v units in the last place at %v: %v", worst, at, f.at(at))
			}
		})
	}
}

func TestPow(t *testing.T) {
	n := 50
	if *full {
		n = 400
	}
	rng := rand.New(rand.NewPCG(3, 4))
	worst := 0.0
	check := func(x, y float64) {
		got := Pow(x, y)
		if math.Abs(got) < 0x1p-1022 || math.IsInf(got, 0) {
			return
		}
		want := bigExp(times(num(y), bigLog(num(math.Abs(x)))))
		if x < 0 && math.Mod(y, 2) != 0 {
			want.Neg(want)
		}
		if e := ulps(got, want); !(e <= worst) {
			worst = e
			if !(e <= 0.501) {
				t.Errorf("Pow(%v, %v) = %v is off by %v", x, y, got, e)
			}
		}
	}
	for range n {
		x := math.Ldexp(1+rng.Float64(), rng.IntN(2046)-1022)
		check(x, rng.NormFloat64())
		check(rng.Float64()*10, rng.NormFloat64()*100)
		check(1+math.Ldexp(rng.Float64(), -rng.IntN(50)), math.Ldexp(rng.Float64(), rng.IntN(60)))
		check(-rng.Float64()*10, float64(rng.IntN(200)-100))
		check(x, 0.5)
		check(x, -1)
		check(x, 2)
	}
	t.Logf("at most %.6f units in the last place", worst)
	for _, x := range []float64{3, 10, 1.5, 7, 1 << 20} { // exact results
		for y := 1.0; y < 6; y++ {
			if want := math.Pow(x, y); Pow(x, y) != want {
				t.Errorf("%v^%v = %v, want %v", x, y, Pow(x, y), want)
			}
		}
	}
	for _, x := range specials {
		for _, y := range append([]float64{2, 3, -3, 0.5, -0.5, 1 << 60, -1 << 60, 1e300}, specials...) {
			if got, want := Pow(x, y), math.Pow(x, y); !same(got, want) && math.Abs(got-want) > 1e-14*math.Abs(want) {
				t.Errorf("Pow(%v, %v) = %v, want %v", x, y, got, want)
			}
		}
	}
}

var specials = []float64{0, math.Copysign(0, -1), 1, -1, inf, -inf, math.NaN(), math.MaxFloat64, -math.MaxFloat64, 0x1p-1074, -0x1p-1074, 2, -2, 0.5, -0.5}

// same is equality that knows the sign of zero and that NaN is NaN.
func same(a, b float64) bool {
	return a == b && math.Signbit(a) == math.Signbit(b) || math.IsNaN(a) && math.IsNaN(b)
}

// TestSpecialCases compares with package math where results are special, and
// roughly elsewhere.
func TestSpecialCases(t *testing.T) {
	for _, f := range tested {
		for _, x := range append([]float64{1e4, -1e4, -745.2, 710.476}, specials...) {
			got, want := f.at(x), f.std(x)
			if f.name == "Log" && x == 0x1p-1074 {
				want = -1074 * math.Ln2 // of which not every version of package math knows
			}
			if math.IsInf(want, 0) != math.IsInf(got, 0) || !same(got, want) && !(math.Abs(got-want) <= 1e-13*math.Abs(want)+0x1p-1074) {
				t.Errorf("%s(%v) = %v, want %v", f.name, x, got, want)
			}
		}
	}
	for _, x := range []float64{-720, -740, -745.1, 709.782712893384} { // subnormal, and the greatest
		if e := ulps(Exp(x), bigExp(num(x))); e > 1 {
			t.Errorf("Exp(%v) is off by %v", x, e)
		}
	}
	for _, x := range []float64{-710.4758600739439, 710.4758600739439} {
		if es, ec := ulps(Sinh(x), bigSinh(num(x))), ulps(Cosh(x), bigCosh(num(x))); es > 1 || ec > 1 {
			t.Errorf("Sinh(%v) is off by %v, Cosh by %v", x, es, ec)
		}
	}
	if y := Exp(709.7827128933841); !math.IsInf(y, 1) {
		t.Errorf("e^709.7827128933841 = %v", y)
	}
}

// The quick way says nothing else than the long one, and mostly it says something.
func TestQuickExp(t *testing.T) {
	x := arguments(leastExp, mostExp, 20000)
	sure := 0
	for _, x := range x {
		y, e, ok := quickExp(x)
		if !ok {
			continue
		}
		sure++
		if m, f, _, _ := exp(pair{x, 0}); math.Ldexp(y, e) != math.Ldexp(m.hi, f) {
			t.Fatalf("e^%v is %v·2^%d or %v·2^%d", x, y, e, m.hi, f)
		}
	}
	if sure < len(x)*9/10 {
		t.Errorf("sure of %d of %d", sure, len(x))
	}
}

// digest is that of the functions' values at many points, on every machine.
const digest = "69c510b31d544dde2defa1328c3d9b0a963c7e00fe5569338942af144c21ad3a"

func TestBits(t *testing.T) {
	h := sha256.New()
	add := func(y float64) { h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(y))) }
	for _, f := range tested {
		for _, x := range arguments(f.lo, f.hi, 5000) {
			add(f.at(x))
			add(Pow(math.Abs(x), 1/(1+math.Abs(x))))
		}
	}
	if got := fmt.Sprintf("%x", h.Sum(nil)); got != digest {
		t.Errorf("the values have the digest %s", got)
	}
}

func BenchmarkExp(b *testing.B)  { benchmark(b, Exp, 3) }
func BenchmarkLog(b *testing.B)  { benchmark(b, Log, 3) }
func BenchmarkTanh(b *testing.B) { benchmark(b, Tanh, 1) }
func BenchmarkErf(b *testing.B)  { benchmark(b, Erf, 1) }
func BenchmarkSin(b *testing.B)  { benchmark(b, Sin, 3) }

func benchmark(b *testing.B, f func(float64) float64, x float64) {
	s := 0.0
	for b.Loop() {
		s += f(x)
		x += 1e-9
	}
	if math.IsNaN(s) {
		b.Error(s)
	}
}
