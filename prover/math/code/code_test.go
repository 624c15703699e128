package code

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prove-model/prove-model/prover/math/field"
	"pgregory.net/rapid"
)

// randomM31 returns n elements; every 16th is an extreme value.
func randomM31(rng *rand.Rand, n int) []field.M31 {
	v := make([]field.M31, n)
	for i := range v {
		v[i] = field.M31(rng.Uint32N(field.P))
		switch rng.IntN(32) {
		case 0:
			v[i] = 0
		case 1:
			v[i] = field.P - 1
		}
	}
	return v
}

// randomQM31 returns n elements of K.
func randomQM31(rng *rand.Rand, n int) []field.QM31 {
	v, l := make([]field.QM31, n), randomM31(rng, 4*n)
	for i := range v {
		v[i] = field.NewQM31(l[4*i], l[4*i+1], l[4*i+2], l[4*i+3])
	}
	return v
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// evaluate is the definition: Σ_b c_b Π_j t_j^{b_j}.
func evaluate(coeffs []field.M31, x field.M31) field.M31 {
	var sum field.M31
	for b, c := range coeffs {
		t := x
		for rest := b; rest > 0; rest >>= 1 {
			if rest&1 == 1 {
				c = c.Mul(t)
			}
			t = t.Mul(t).Double().Sub(1)
		}
		sum = sum.Add(c)
	}
	return sum
}

func TestDomain(t *testing.T) {
	for n := range 11 {
		d := NewDomain(n)
		seen := map[field.M31]bool{}
		for i := range uint64(1) << n {
			x := d.Point(i)
			if seen[x] || n > 0 && x == 0 {
				t.Fatalf("X_%d: point %d at position %d is zero or not new", n, x, i)
			}
			seen[x] = true
			if positionOf(naturalIndex(i, n), n) != i {
				t.Fatalf("X_%d: position %d does not come back", n, i)
			}
			if n > 0 {
				if d.Point(i^1) != x.Neg() {
					t.Fatalf("X_%d: positions %d and its partner are not opposite", n, i)
				}
				if NewDomain(n-1).Point(i/2) != DoubleX(x) {
					t.Fatalf("X_%d: position %d does not fold to %d", n, i, i/2)
				}
			}
		}
		// The definition of X_n, independent of the numbering.
		for j := range uint64(1) << n {
			if x := circlePower(circleOrder, (2*j+1)<<(29-n)).A0; !seen[x] {
				t.Fatalf("X_%d lacks x((2·%d+1)g)", n, j)
			}
		}
	}
}

func TestGenerator(t *testing.T) {
	if circlePower(circleOrder, 1<<30) != (field.CM31{A0: field.P - 1}) {
		t.Error("the generator's order is not 2^31")
	}
	if g := generator; g.A0.Square().Add(g.A1.Square()) != 1 {
		t.Error("the generator is not on the circle")
	}
}

func TestTwiddles(t *testing.T) {
	large := newTwiddles(10)
	for n := range 10 {
		if d := cmp.Diff(newTwiddles(n)[min(n, 1):], large[min(n, 1):1<<n]); d != "" {
			t.Errorf("table of 2^%d is not a prefix:\n%s", n, d)
		}
	}
	for s := range 10 {
		for k := range 1 << s {
			if large[1<<s+k] != NewDomain(s+1).Point(uint64(2*k)) {
				t.Fatalf("twiddle %d of level %d", k, s)
			}
		}
	}
}

// TestEncodeIsEvaluation compares every position with the definition.
func TestEncodeIsEvaluation(t *testing.T) {
	rng := newRand(1)
	for n := range 9 {
		for m := n; m <= min(n+3, 9); m++ {
			coeffs := randomM31(rng, 1<<n)
			got := make([]field.M31, 1<<m)
			Encode(got, coeffs)
			for i := range got {
				if want := evaluate(coeffs, NewDomain(m).Point(uint64(i))); got[i] != want {
					t.Fatalf("2^%d on X_%d, position %d: got %d, want %d", n, m, i, got[i], want)
				}
			}
		}
	}
}

// TestEncodeExtremes encodes tables of the largest values only.
func TestEncodeExtremes(t *testing.T) {
	for n := range 9 {
		coeffs := make([]field.M31, 1<<n)
		for i := range coeffs {
			coeffs[i] = field.P - 1
		}
		got := make([]field.M31, 2<<n)
		Encode(got, coeffs)
		for i := range got {
			if want := evaluate(coeffs, NewDomain(n+1).Point(uint64(i))); got[i] != want {
				t.Fatalf("2^%d, position %d: got %d, want %d", n, i, got[i], want)
			}
		}
	}
}

// TestLongEncode covers cache blocking and the split over cores: sizes beyond
// leafLen and parallelLen, at sampled positions.
func TestLongEncode(t *testing.T) {
	rng := newRand(2)
	for _, c := range []struct{ n, m int }{{13, 13}, {14, 14}, {13, 15}, {15, 16}, {16, 18}, {17, 17}, {16, 20}} {
		coeffs := randomM31(rng, 1<<c.n)
		got := make([]field.M31, 1<<c.m)
		Encode(got, coeffs)
		for range 4 {
			i := rng.Uint64N(1 << c.m)
			if want := evaluate(coeffs, NewDomain(c.m).Point(i)); got[i] != want {
				t.Fatalf("2^%d on X_%d, position %d: got %d, want %d", c.n, c.m, i, got[i], want)
			}
		}
	}
}

// encodeK is Encode for a table over K: since the points are in F, of each limb by itself.
func encodeK(coeffs []field.QM31, m int) []field.QM31 {
	word := make([]field.QM31, 1<<m)
	var limbs [4][]field.M31
	for l := range limbs {
		limb := make([]field.M31, len(coeffs))
		for i := range limb {
			limb[i] = coeffs[i].Limbs()[l]
		}
		limbs[l] = make([]field.M31, len(word))
		Encode(limbs[l], limb)
	}
	for i := range word {
		word[i] = field.NewQM31(limbs[0][i], limbs[1][i], limbs[2][i], limbs[3][i])
	}
	return word
}

// TestFolding checks that folding a codeword encodes the folded table, with
// even = (f(x)+f(−x))/2 and odd = (f(x)−f(−x))/(2x).
func TestFolding(t *testing.T) {
	rng := newRand(4)
	const n, m = 6, 8
	coeffs := randomQM31(rng, 1<<n)
	r := randomQM31(rng, 1)[0]
	word := encodeK(coeffs, m)

	fold := func(even, odd field.QM31) field.QM31 { return even.Add(r.Mul(odd.Sub(even))) }
	folded := make([]field.QM31, 1<<(n-1))
	for i := range folded {
		folded[i] = fold(coeffs[2*i], coeffs[2*i+1])
	}
	want := encodeK(folded, m-1)
	for i := range want {
		x := NewDomain(m).Point(uint64(2 * i))
		even := word[2*i].Add(word[2*i+1]).MulM31(field.M31(2).Inv())
		odd := word[2*i].Sub(word[2*i+1]).MulM31(x.Double().Inv())
		if got := fold(even, odd); got != want[i] {
			t.Fatalf("position %d: got %v, want %v", i, got, want[i])
		}
	}
}

// TestEvaluationFunctional checks that the weights give codeword entries, and
// that WeightEval is the multilinear extension of the table of weights.
func TestEvaluationFunctional(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := newRand(rapid.Uint64().Draw(t, "seed"))
		n := rapid.IntRange(0, 8).Draw(t, "n")
		m := n + rapid.IntRange(0, 2).Draw(t, "blowup")
		coeffs := randomQM31(rng, 1<<n)
		word := encodeK(coeffs, m)
		position := rng.Uint64N(1 << m)
		z := field.FromM31(NewDomain(m).Point(position))
		if EvalAt(coeffs, z) != word[position] {
			t.Fatal("EvalAt is not the codeword's entry")
		}

		z = randomQM31(rng, 1)[0]
		w := PointWeights(z, n)
		table := WeightTable(w)
		if EvalAt(coeffs, z) != field.Dot(coeffs, table) {
			t.Fatal("EvalAt is not the inner product with the weights")
		}
		// Bind the most significant variable first, as everywhere.
		r := randomQM31(rng, n)
		for _, ri := range r {
			field.FoldVec(table[:len(table)/2], table, ri)
			table = table[:len(table)/2]
		}
		if WeightEval(w, r) != table[0] {
			t.Fatal("WeightEval is not the extension of the table")
		}
	})
}

func TestBadLengths(t *testing.T) {
	for name, f := range map[string]func(){
		"empty table":      func() { Encode(make([]field.M31, 4), nil) },
		"empty codeword":   func() { Encode(nil, make([]field.M31, 4)) },
		"shorter codeword": func() { Encode(make([]field.M31, 2), make([]field.M31, 4)) },
		"length 3":         func() { Encode(make([]field.M31, 8), make([]field.M31, 3)) },
		"codeword of 6":    func() { Encode(make([]field.M31, 6), make([]field.M31, 2)) },
		"domain too large": func() { NewDomain(MaxLogSize + 1) },
		"no such position": func() { NewDomain(3).Point(8) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// BenchmarkEncode measures elements of the codeword per second at rate 1/4.
func BenchmarkEncode(b *testing.B) {
	rng := newRand(5)
	for _, m := range []int{14, 18, 20, 22} {
		coeffs, dst := randomM31(rng, 1<<(m-2)), make([]field.M31, 1<<m)
		b.Run(fmt.Sprintf("M31/2^%d", m), func(b *testing.B) {
			b.SetBytes(int64(4 * len(dst)))
			for b.Loop() {
				Encode(dst, coeffs)
			}
		})
	}
}
