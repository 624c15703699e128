package logup

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/prove-model/prove-model/prover/math/arena"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poly"
	"github.com/prove-model/prove-model/prover/math/transcript"
)

// NumVars returns ⌈log2 n⌉, the number of variables of a tree over n fractions.
func NumVars(n int) int {
	return bits.Len(uint(max(n, 1) - 1))
}

// NewTree returns the tree over the fractions num[i]/den[i] in memory. 0/1 fills them
// up to 2^vars fractions. The tree keeps both slices and overwrites den. It takes 16
// bytes of memory more for each of the 2^vars fractions. NewTree panics if the slices
// have different lengths.
func NewTree(num []field.M31, den []field.QM31) Tree { return NewTreeIn(nil, num, den) }

// NewTreeIn is NewTree with the tables in memory of an arena. The fractions may be memory
// of the arena as well. Close gives all of this back to the arena.
func NewTreeIn(a *arena.Arena, num []field.M31, den []field.QM31) Tree {
	if len(num) != len(den) {
		panic(fmt.Sprintf("logup: %d numerators and %d denominators", len(num), len(den)))
	}
	return newTree(a, leaves{num: num, den: den, vars: NumVars(len(num))})
}

// A Tree is the passes over a tree of sums of fractions, in memory or on a device: the work on
// data in the prover's rounds. [Prove] does the rest. Results are a function of the leaves
// and of the calls so far. A tree is used by one goroutine.
type Tree interface {
	// Top returns layer 1, the two fractions whose sum is that of all leaves. If there is a
	// single leaf, it returns the leaf as N0/D0.
	Top(ctx context.Context) (Fractions, error)
	// Begin starts the sumcheck over layer k's variables, 1 ≤ k < vars, of
	//
	//	Σ_x eq(eq,x)·( n0(x)·d1(x) + n1(x)·d0(x) + lambda·d0(x)·d1(x) )
	//
	// on the halves of layer k+1. Layers come in ascending order and may be
	// consumed.
	Begin(ctx context.Context, k int, eq []field.QM31, lambda field.QM31) error
	// Round binds the variable of the layer's previous round, if any, to r. It
	// returns the value at 0 and the leading coefficient of q(X), the quadratic that
	// the sum is with the round's variable set to X and without the factors of eq
	// that belong to this variable and to earlier ones.
	Round(ctx context.Context, round int, r field.QM31) (Sums, error)
	// End binds the layer's last variable to r and returns what is left.
	End(ctx context.Context, r field.QM31) (Fractions, error)
	// Close gives back the memory of the tree. It may come at any time.
	Close()
}

// Fractions are the values of a layer's two halves at one point: N0/D0 of the half where
// variable 0 is 0, and N1/D1 of the other.
type Fractions struct{ N0, N1, D0, D1 field.QM31 }

// Sums are a round's value at 0 and leading coefficient.
type Sums struct{ Zero, Top field.QM31 }

// An End is the claim to which a proof reduces the sum: the evaluations Num and Den,
// at Point, of the numerators and the denominators.
type End struct {
	Point    []field.QM31
	Num, Den transcript.Form
}

// Prove proves that the fractions of a tree of 2^vars leaves, which the transcript
// must bind already, add up to zero. The tree cannot be used afterwards. An error
// comes from the tree; what was written by then is not a proof. Fractions that do not
// add up to zero, or a zero denominator, give a proof that Verify rejects.
func Prove(ctx context.Context, w *transcript.Writer, vars int, t Tree) (End, error) {
	f, err := t.Top(ctx)
	if err != nil {
		return End{}, err
	}
	if vars == 0 {
		w.SendQM31(f.N0, f.D0)
		if w.Masked() {
			w.SendQM31(inverse(f.D0))
		}
		return End{nil, transcript.Known(f.N0), transcript.Known(f.D0)}, nil
	}
	return proveFrom(ctx, w, vars, t, f)
}

// proveFrom sends f as the top layer of the tree and proves the layers below.
func proveFrom(ctx context.Context, w *transcript.Writer, vars int, t Tree, f Fractions) (end End, err error) {
	for k := 1; ; k++ {
		w.SendQM31(f.N0, f.N1, f.D0, f.D1)
		sent := f.forms()
		if k == 1 && w.Masked() {
			_, den := sent.sum()
			w.SendQM31(den.Plain(), inverse(den.Plain()))
		}
		mu := w.Challenge()
		num, den := sent.at(mu)
		end = End{append([]field.QM31{mu}, end.Point...), num, den}
		if k == vars {
			return end, nil
		}
		lambda := w.Challenge()
		if err := t.Begin(ctx, k, end.Point, lambda); err != nil {
			return End{}, err
		}
		if end.Point, f, err = proveLayer(ctx, w, t, end.Point, num.Add(den.Mul(lambda)).Plain()); err != nil {
			return End{}, err
		}
	}
}

// inverse returns 1/v, or 0 for v = 0. (No proof with a zero denominator is valid.)
func inverse(v field.QM31) field.QM31 {
	if v.IsZero() {
		return v
	}
	return v.Inv()
}

// proveLayer runs the sumcheck for the claim at the point eq and returns its
// point and the values of the layer below there.
func proveLayer(ctx context.Context, w *transcript.Writer, t Tree, eq []field.QM31, claim field.QM31) ([]field.QM31, Fractions, error) {
	// The coefficient q_1 follows from claim = q(0) + eq[j]·(q_1 + q_2) and needs 1/eq[j]. The
	// coordinates are challenges. Should one be zero, with probability 1/|K|, the proof is
	// rejected.
	inv := append([]field.QM31(nil), eq...)
	field.BatchInvert(inv)
	point := make([]field.QM31, len(eq))
	var last field.QM31
	for j := range point {
		s, err := t.Round(ctx, j, last)
		if err != nil {
			return nil, Fractions{}, err
		}
		q1 := claim.Sub(s.Zero).Mul(inv[j]).Sub(s.Top)
		w.SendQM31(q1, s.Top)
		q := poly.Quadratic{s.Zero, q1, s.Top}
		last = w.Challenge()
		point[j] = last
		claim = q.At(last)
	}
	f, err := t.End(ctx, last)
	return point, f, err
}
