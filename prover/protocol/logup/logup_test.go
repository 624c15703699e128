package logup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"pgregory.net/rapid"
)

func randomM31(rng *rand.Rand) field.M31 { return field.M31(rng.Uint32N(field.P)) }

func randomQM31(rng *rand.Rand) field.QM31 {
	return field.NewQM31(randomM31(rng), randomM31(rng), randomM31(rng), randomM31(rng))
}

// zeroSum returns n fractions that add up to zero: a look-up into a table of
// n/4 random rows with multiplicities, as the protocol has it, in any order.
// For n = 1 that is 0/d.
func zeroSum(rng *rand.Rand, n int) ([]field.M31, []field.QM31) {
	num, den := make([]field.M31, n), make([]field.QM31, n)
	rows := min(n, n/4+1)
	for i := range den {
		if i < rows {
			den[i] = randomQM31(rng)
			continue
		}
		row := rng.IntN(rows)
		num[i], den[i] = field.P-1, den[row]
		num[row]++
	}
	rng.Shuffle(n, func(i, j int) {
		num[i], num[j] = num[j], num[i]
		den[i], den[j] = den[j], den[i]
	})
	return num, den
}

func sponge(num []field.M31, den []field.QM31) *transcript.Sponge {
	s := transcript.New(hash.Poseidon2, "logup test")
	s.Absorb(num...)
	s.AbsorbQM31(den...)
	return s
}

// prove leaves den as it is.
func prove(num []field.M31, den []field.QM31) []byte {
	w := transcript.NewWriter(sponge(num, den))
	proveTo(w, num, append([]field.QM31(nil), den...))
	return w.Bytes()
}

// proveTo overwrites den.
func proveTo(w *transcript.Writer, num []field.M31, den []field.QM31) End {
	end, err := Prove(context.Background(), w, NumVars(len(num)), NewTree(num, den))
	if err != nil {
		panic(err) // trees in memory have no errors
	}
	return end
}

// verify runs the verifier and the checks that are the caller's.
func verify(proof []byte, num []field.M31, den []field.QM31) error {
	r := transcript.NewReader(sponge(num, den), proof)
	end := Verify(r, NumVars(len(num)))
	if err := r.Done(); err != nil {
		return err
	}
	// Denominators beyond the stored ones are 1: add the mask of the padding.
	rest := field.One.Sub(poly.MaskEval(end.Point, uint64(len(den))))
	if end.Num.Plain() != poly.EvalM31(num, end.Point) || end.Den.Plain() != poly.Eval(den, end.Point).Add(rest) {
		return errors.New("wrong evaluation")
	}
	return nil
}

func TestHonest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 300).Draw(t, "fractions")
		num, den := zeroSum(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), n)
		if err := verify(prove(num, den), num, den); err != nil {
			t.Fatal(err)
		}
	})
}

// TestLarge crosses the limits at which layers are cut into tasks and tiles,
// with padding that ends in the third and in the fourth quarter.
func TestLarge(t *testing.T) {
	for _, n := range []int{1 << 14, 1<<13 + 1, 1<<13 + 3000, 1<<13 + 4097, 1<<14 - 300} {
		num, den := zeroSum(rand.New(rand.NewPCG(uint64(n), 1)), n)
		w := transcript.NewWriter(sponge(num, den))
		end := proveTo(w, num, append([]field.QM31(nil), den...))
		if err := verify(w.Bytes(), num, den); err != nil {
			t.Fatalf("%d fractions: %v", n, err)
		}
		rest := field.One.Sub(poly.MaskEval(end.Point, uint64(n)))
		if end.Num.Plain() != poly.EvalM31(num, end.Point) || end.Den.Plain() != poly.Eval(den, end.Point).Add(rest) {
			t.Fatalf("%d fractions: the prover's own evaluations are wrong", n)
		}
	}
}

// TestThreads: the bytes do not depend on the number of threads.
func TestThreads(t *testing.T) {
	num, den := zeroSum(rand.New(rand.NewPCG(1, 2)), 11000)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	want := prove(num, den)
	for _, procs := range []int{2, 3, 7} {
		runtime.GOMAXPROCS(procs)
		if !bytes.Equal(prove(num, den), want) {
			t.Errorf("%d threads give another proof than one", procs)
		}
	}
}

// TestTree compares every layer with sums by the definition, and the root
// with the sum of the fractions as such.
func TestTree(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{2, 3, 5, 8, 13, 600} {
		num, den := make([]field.M31, n), make([]field.QM31, n)
		var want field.QM31
		for i := range num {
			num[i], den[i] = randomM31(rng), randomQM31(rng)
			want = want.Add(den[i].Inv().MulM31(num[i]))
		}
		tr := newTree(nil, leaves{num: num, den: den, vars: NumVars(n)})
		var root [2]field.QM31
		if n > 2 { // of two fractions it is not kept
			root = [2]field.QM31{tr.num[1], tr.den[1]}
			if got := root[0].Mul(root[1].Inv()); got != want {
				t.Errorf("%d fractions add up to %v, want %v", n, got, want)
			}
		}
		top := tr.top()
		num1, den1 := top.sum()
		if got := num1.Mul(den1.Inv()); got != want {
			t.Errorf("%d fractions: the top layer adds up to %v, want %v", n, got, want)
		}
		if n > 2 && (num1 != root[0] || den1 != root[1]) {
			t.Errorf("%d fractions: the top layer does not add up to the root", n)
		}
	}
}

// TestProofLength: the top layer's four values; for the layer of k variables
// two values a round and four at the end.
func TestProofLength(t *testing.T) {
	for n, values := range map[int]int{0: 2, 1: 2, 2: 4, 4: 4 + (2 + 4), 5: 4 + (2 + 4) + (4 + 4), 16: 4 + 6 + 8 + 10} {
		num, den := zeroSum(rand.New(rand.NewPCG(5, 6)), n)
		if proof := prove(num, den); len(proof) != 16*values {
			t.Errorf("%d fractions: %d bytes, want %d values", n, len(proof), values)
		}
	}
}

func TestNonZeroSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n := rapid.IntRange(1, 100).Draw(t, "fractions")
		num, den := zeroSum(rng, n)
		if i := rng.IntN(n); rng.IntN(2) == 0 || num[i] == 0 {
			num[i] = num[i].Add(1 + field.M31(rng.Uint32N(field.P-1)))
		} else {
			den[i] = den[i].Add(field.NewQM31(1, 2, 3, 4))
		}
		if err := verify(prove(num, den), num, den); !errors.Is(err, ErrSum) {
			t.Fatalf("got %v, want %v", err, ErrSum)
		}
	})
}

// TestZeroDenominator: 1/0 and −1/0 cancel in projective form, as do 1/0 and
// any other fraction; both are refused.
func TestZeroDenominator(t *testing.T) {
	for _, n := range []int{1, 2, 3, 20} {
		num, den := zeroSum(rand.New(rand.NewPCG(7, 8)), n)
		for _, zeros := range []int{1, 2} {
			for i := range min(zeros, n) {
				den[i] = field.Zero
			}
			if verify(prove(num, den), num, den) == nil {
				t.Errorf("%d zero denominators of %d were accepted", zeros, n)
			}
		}
	}
	num, den := []field.M31{1, 5, 3, field.P - 3}, []field.QM31{{}, {}, field.One, field.One}
	err := verify(prove(num, den), num, den)
	if !errors.Is(err, ErrDenominator) {
		t.Errorf("got %v, want %v", err, ErrDenominator)
	}
}

// TestForgedTop: a prover whose fractions do not add up to zero states a top
// layer that does and goes on honestly. The layer below it gives it away.
func TestForgedTop(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{2, 4, 8, 37} {
		num, den := make([]field.M31, n), make([]field.QM31, n)
		for i := range num {
			num[i], den[i] = randomM31(rng), randomQM31(rng)
		}
		w := transcript.NewWriter(sponge(num, den))
		tr := newTree(nil, leaves{num: num, den: append([]field.QM31(nil), den...), vars: NumVars(n)})
		f := tr.top()
		f.N1 = f.N0.Mul(f.D1).Mul(f.D0.Inv()).Neg()
		if sum, _ := f.sum(); !sum.IsZero() {
			t.Fatal("the forgery should add up to zero")
		}
		if _, err := proveFrom(context.Background(), w, NumVars(n), tr, f); err != nil {
			t.Fatal(err)
		}
		if err := verify(w.Bytes(), num, den); err == nil {
			t.Errorf("%d fractions: a forged top layer was accepted", n)
		} else if n > 2 && !errors.Is(err, ErrLayer) {
			t.Errorf("%d fractions: got %v, want %v", n, err, ErrLayer)
		}
	}
}

// TestForgedLayer: the halves sent at the end of a layer are replaced by
// others that satisfy its equation; the claims they make are then false.
func TestForgedLayer(t *testing.T) {
	num, den := zeroSum(rand.New(rand.NewPCG(11, 12)), 8)
	proof := prove(num, den)
	// Layout for three variables: 4 values, one round, 4, two rounds, 4.
	for _, at := range []int{4 + 2, 4 + 2 + 4 + 4} {
		r := transcript.NewReader(transcript.New(hash.Poseidon2, ""), proof[16*at:])
		f := readFractions(r)
		// Exchanging the two summands leaves both sums as they are.
		f.n0, f.n1, f.d0, f.d1 = f.n1, f.n0, f.d1, f.d0
		w := transcript.NewWriter(transcript.New(hash.Poseidon2, ""))
		w.SendQM31(f.n0.Plain(), f.n1.Plain(), f.d0.Plain(), f.d1.Plain())
		forged := append([]byte(nil), proof...)
		copy(forged[16*at:], w.Bytes())
		if verify(forged, num, den) == nil {
			t.Errorf("exchanged halves at value %d were accepted", at)
		}
	}
}

func TestAlteredProof(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for _, n := range []int{1, 2, 11} {
		num, den := zeroSum(rng, n)
		proof := prove(num, den)
		for i := range proof {
			altered := append([]byte(nil), proof...)
			altered[i] ^= 1 << rng.IntN(7)
			if verify(altered, num, den) == nil {
				t.Errorf("%d fractions: byte %d altered: accepted", n, i)
			}
		}
		for k := range proof {
			if verify(proof[:k], num, den) == nil {
				t.Errorf("%d fractions: the first %d of %d bytes were accepted", n, k, len(proof))
			}
		}
		if verify(append(proof[:len(proof):len(proof)], 0, 0, 0, 0), num, den) == nil {
			t.Errorf("%d fractions: a longer proof was accepted", n)
		}
		r := transcript.NewReader(sponge(num, den), proof)
		Verify(r, NumVars(n)+1)
		if r.Done() == nil {
			t.Errorf("%d fractions: accepted for a larger tree", n)
		}
	}
}

func TestNumVars(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 1 << 20: 20, 1<<20 + 1: 21} {
		if got := NumVars(n); got != want {
			t.Errorf("NumVars(%d) = %d, want %d", n, got, want)
		}
	}
}

// cancels ends a context in a pass.
type cancels struct {
	Tree
	cancel func()
	passes int // until then
}

func (c *cancels) Round(ctx context.Context, round int, r field.QM31) (Sums, error) {
	if c.passes--; c.passes < 0 {
		c.cancel()
	}
	return c.Tree.Round(ctx, round, r)
}

// TestCancelled: a context that ends stops the prover at its next pass. The
// layers of a tree of 16 leaves have six rounds.
func TestCancelled(t *testing.T) {
	num, den := zeroSum(rand.New(rand.NewPCG(21, 22)), 16)
	for passes := range 7 {
		ctx, cancel := context.WithCancel(context.Background())
		tree := &cancels{NewTree(num, append([]field.QM31(nil), den...)), cancel, passes}
		_, err := Prove(ctx, transcript.NewWriter(sponge(num, den)), 4, tree)
		if ended := passes < 6; errors.Is(err, context.Canceled) != ended {
			t.Errorf("cancelled in round %d of 6: %v", passes, err)
		}
		cancel()
	}
}

func TestLengthsPanic(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("slices of different lengths went unnoticed")
		}
	}()
	NewTree(make([]field.M31, 2), make([]field.QM31, 3))
}

func BenchmarkProve(b *testing.B) {
	for _, vars := range []int{12, 16, 20} {
		b.Run(fmt.Sprint("2^", vars), func(b *testing.B) {
			num, den := zeroSum(rand.New(rand.NewPCG(15, 16)), 1<<vars)
			work := make([]field.QM31, len(den))
			b.SetBytes(int64(len(den)))
			for b.Loop() {
				copy(work, den)
				proveTo(transcript.NewWriter(transcript.New(hash.Poseidon2, "bench")), num, work)
			}
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	num, den := zeroSum(rand.New(rand.NewPCG(17, 18)), 1<<12)
	w := transcript.NewWriter(transcript.New(hash.Poseidon2, "bench"))
	proveTo(w, num, den)
	for b.Loop() {
		Verify(transcript.NewReader(transcript.New(hash.Poseidon2, "bench"), w.Bytes()), 12)
	}
}

// FuzzVerify: arbitrary bytes never prove anything and never panic. The
// fractions are fixed ones that do not add up to zero.
func FuzzVerify(f *testing.F) {
	rng := rand.New(rand.NewPCG(19, 20))
	num, den := zeroSum(rng, 11)
	f.Add(prove(num, den))
	num[3] = num[3].Add(1)
	f.Add(prove(num, den))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, proof []byte) {
		if verify(proof, num, den) == nil {
			t.Error("accepted")
		}
	})
}

// sum returns the numerator and the denominator of n0/d0 + n1/d1.
func (f *Fractions) sum() (num, den field.QM31) {
	return f.N0.Mul(f.D1).Add(f.N1.Mul(f.D0)), f.D0.Mul(f.D1)
}
