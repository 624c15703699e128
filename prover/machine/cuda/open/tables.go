package open

import (
	"math/bits"
	"slices"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/protocol/whir"
)

// Tables are the tables f and q of whir.Passes on the device. A challenge is applied with the next pass over them, so that binding a
// variable takes no pass of its own.
type Tables struct {
	Stream   *run.Stream
	Mem      *device.Scope // owns F, Q and what is committed to
	Twiddles kernels.Ptr   // for encode, in Commit
	F, Q     kernels.Ptr
	N        int          // entries of each, before the pending challenge is applied
	Folded   []*foldedRow // by Commit: the rows that it has committed to; nil once they are opened
	r        []field.QM31 // the pending challenge; empty if there is none
}

// Round returns the sums of the next round. In the same pass it applies the pending challenge.
func (t *Tables) Round() whir.Sums {
	words := t.Stream.Results().Read(2*kernels.SumWords, func(p kernels.Post) error {
		if len(t.r) == 0 {
			return kernels.PairRound(t.Mem, t.F, t.Q, t.N, p)
		}
		return kernels.PairBind(t.Mem, t.F, t.Q, t.N, t.r[0], p)
	})
	if len(t.r) > 0 {
		t.N, t.r = t.N/2, nil
	}
	return whir.Sums{Zero: kernels.FromSum(words), Top: kernels.FromSum(words[kernels.SumWords:])}
}

// Bind notes the challenge r for the first variable; the next Round, or Bound, applies it.
func (t *Tables) Bind(r field.QM31) {
	t.Bound()
	t.r = []field.QM31{r}
}

// Bound applies the pending challenge to both tables, if there is one.
func (t *Tables) Bound() {
	if len(t.r) > 0 {
		device.Check(kernels.PairEnd(t.Mem, t.F, t.Q, t.N, t.r[0]))
		t.N, t.r = t.N/2, nil
	}
}

// vars returns the number of variables that are left. No challenge is pending.
func (t *Tables) vars() int { return bits.TrailingZeros(uint(t.N)) }

// Values is described at whir.Passes, as At and Add are.
func (t *Tables) Values() []field.QM31 {
	t.Bound()
	return device.Fetch[field.QM31](t.Mem, t.F, t.N)
}

// At multiplies f with the weights of evaluation at z.
func (t *Tables) At(z field.QM31) field.QM31 {
	t.Bound()
	a := device.NewScope(t.Mem)
	defer a.Close()
	w := newWeights(a, [][]field.QM31{evaluation(z, t.vars())}, false)
	sum := device.NewWords(a, kernels.SumWords)
	device.Check(kernels.DotWeight(a, sum, t.F, t.vars(), w.parts, w.tables))
	return kernels.FromSum(device.Fetch[uint64](a, sum, kernels.SumWords))
}

// evaluation returns the factors of the weights of evaluation at z (newWeights), the factor of the
// lowest index bit first.
func evaluation(z field.QM31, vars int) []field.QM31 {
	w := code.PointWeights(z, vars)
	slices.Reverse(w)
	return w
}

// Add adds constraints at points of the base field to q in one launch, and those at points of K one by one.
func (t *Tables) Add(c *whir.Constraints) {
	t.Bound()
	a := device.NewScope(t.Mem)
	defer a.Close()
	if n := len(c.Base); n > 0 {
		points := make([]kernels.PointWeight, n)
		for i, b := range c.Base {
			points[i] = kernels.PointWeight{Coef: b.Coef, Z: b.Z}
		}
		scratch := device.NewArray[uint8](a, kernels.PointScratch(t.vars(), n))
		device.Check(kernels.AddPoints(a, t.Q, t.vars(), device.NewCopy(a, points), n, scratch))
	}
	if n := len(c.Large); n > 0 {
		factors, jobs := make([][]field.QM31, n), make([]kernels.AddJob, n)
		for i, l := range c.Large {
			factors[i], jobs[i] = evaluation(l.Z, t.vars()), kernels.AddJob{Part: uint64(i), Coef: l.Coef}
		}
		w := newWeights(a, factors, false)
		first, l := kernels.WeightLaunch(w.vars[:1])
		at, list := device.NewCopy(a, first), device.NewCopy(a, jobs)
		for i := range jobs { // a launch for each, as each adds to all elements of q
			device.Check(kernels.AddWeights(a, t.Q, at, l, kernels.At[kernels.AddJob](list, i), 1, w.parts, w.tables))
		}
	}
}

// Commit is described at whir.Passes. f is the rows of level l, and the first `rows` of them are committed to, each as four rows of F_p.
func (t *Tables) Commit(suite hash.Suite, l soundness.Level, rows int) hash.Digest {
	t.Bound()
	a := device.NewScope(t.Mem)
	defer a.Close()
	r := &foldedRow{rows: limbs * rows, domain: l.LogDomain()}
	values := device.NewArray[uint32](a, r.rows<<l.RowVars)
	device.Check(kernels.SplitLimbs(a, values, t.F, l.RowVars, rows))
	r.words = device.NewArray[uint32](t.Mem, r.rows<<r.domain)
	encode(a, t.Twiddles, r.words, values, r.rows, l.RowVars, r.domain)
	c := &backend.Commitment{Layout: whir.Layout{Hash: suite}}
	for _, n := range suite.Groups(r.rows) {
		c.Groups = append(c.Groups, whir.Group{Rows: n})
	}
	r.nodes = NewNodes(t.Stream, suite, r.domain, false, func(leaves kernels.Ptr) {
		h, words := NewLeafHasher(a, c, leaves, 0, 1<<r.domain), r.words
		for _, g := range c.Groups {
			device.Check(kernels.HashColumns(a, suite, leaves, 0, words, 1<<r.domain, 1<<r.domain, g.Rows, 0, g.Rows))
			h.Absorb(leaves)
			words = words.Offset(g.Rows<<r.domain, kernels.SizeM31)
		}
	})
	t.Folded = append(t.Folded, r)
	return r.nodes.root
}

// foldedRow is what one Commit has committed to: a folded row, as `rows` rows over F_p with codewords of 2^domain values.
type foldedRow struct {
	rows, domain int
	words        kernels.Ptr // codewords, one row after the other
	nodes        *nodes
}

// Leaves opens what the n-th Commit has committed to at the positions, and frees it.
func (t *Tables) Leaves(n int, positions []uint64) whir.Leaves {
	a := device.NewScope(t.Mem)
	defer a.Close()
	r, size := t.Folded[n], t.Folded[n].rows*len(positions)
	at := device.NewArray[field.M31](a, size)
	device.Check(kernels.GatherColumns(a, at, r.rows, r.words, 1<<r.domain, r.rows, device.NewCopy(a, positions), len(positions)))
	values := slices.Collect(slices.Chunk(device.Fetch[field.M31](a, at, size), r.rows))
	leaves := whir.Leaves{Values: values, Path: r.nodes.siblings(positions)}
	t.free(n)
	return leaves
}

// free frees the codewords and digests of the n-th Commit, unless that has been done.
func (t *Tables) free(n int) {
	if r := t.Folded[n]; r != nil {
		t.Mem.Free(r.words)
		r.nodes.free()
		t.Folded[n] = nil
	}
}

// Close frees the codewords and digests of all Commits. F and Q are freed with Mem.
func (t *Tables) Close() {
	for n := range t.Folded {
		t.free(n)
	}
}
