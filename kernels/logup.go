package kernels

import (
	"fmt"

	"github.com/prove-model/prove-model/prover/field"
)

// LookupBase are the constants of a block of look-up leaves: the denominator is
// Base − key + Beta·value. (Beta is minus the challenge β.)
type LookupBase struct{ Base, Beta field.QM31 }

func (b LookupBase) words() [4]uint64 {
	var w [4]uint64
	w[0], w[1] = pack(b.Base)
	w[2], w[3] = pack(b.Beta)
	return w
}

// LogUpStepLeaves sets the PaddedSize(dims) numerators (M31) and denominators
// (QM31) of a look-up step over a dense shape, from its keys and outs; a step
// without outs has none at address 0.
func LogUpStepLeaves(d Device, num, den Ptr, keys, outs Integers, dims []int, b LookupBase) error {
	all, _, err := axes(dims)
	if err != nil {
		return err
	}
	n, w := PaddedSize(dims), b.words()
	args := []uint64{uint64(num), uint64(den), uint64(n), uint64(keys.At), uint64(keys.Width), uint64(outs.At), uint64(outs.Width)}
	args = append(args, all...)
	return d.Launch(Kernel{"logup", "logup_step_leaves"}, Cover(n), append(args, w[:]...)...)
}

// LogUpTableLeaves sets the n numerators and denominators of a table with the
// keys min, min + 1, …; values are the M31 values of its rows, or 0.
func LogUpTableLeaves(d Device, num, den Ptr, counts Integers, values Ptr, n int, min int64, b LookupBase) error {
	if n < 1 {
		return fmt.Errorf("table of %d rows", n)
	}
	w := b.words()
	return d.Launch(Kernel{"logup", "logup_table_leaves"}, Cover(n), uint64(num), uint64(den), uint64(n), uint64(counts.At), uint64(counts.Width),
		uint64(values), uint64(min), w[0], w[1], w[2], w[3])
}

// LogUpFill sets n fractions to 0/1.
func LogUpFill(d Device, num, den Ptr, n int) error {
	if n <= 0 {
		return nil
	}
	return d.Launch(Kernel{"logup", "logup_fill"}, Cover(n), uint64(num), uint64(den), uint64(n))
}

// LogUpTree adds up 2^vars leaves, vars ≥ 1. num and den are heaps of 2^vars
// elements of K: layer k goes to entries [2^k, 2^(k+1)), down to layer 0.
func LogUpTree(d Device, num, den, leafNum, leafDen Ptr, vars int) error {
	if vars < 1 || vars > 40 {
		return fmt.Errorf("tree over 2^%d leaves", vars)
	}
	half := 1 << (vars - 1)
	err := d.Launch(Kernel{"logup", "logup_first_layer"}, Cover(half), uint64(At[field.QM31](num, half)), uint64(At[field.QM31](den, half)),
		uint64(leafNum), uint64(leafDen), uint64(half))
	for half /= 2; half >= 1 && err == nil; half /= 2 {
		err = d.Launch(Kernel{"logup", "logup_layer"}, Cover(half), uint64(num), uint64(den), uint64(half))
	}
	return err
}

// LogUpRounds does the rounds of the sumcheck over one layer of the tree, of
// 2^Vars entries, Vars ≥ 1; Eq are the heaps of its point. Each round adds to
// the words at sums, two sums, what logup.Tree says of it.
type LogUpRounds struct {
	Vars   int
	Eq     *EqHeaps
	Lambda field.QM31
	// Tables of the layer, 2^Vars elements each to begin with and half as many
	// after every round but the first. N1 has λ·D1 in it once a round is done.
	N0, N1, D0, D1 Ptr
	// LeafNum are the numerators of all 2^(Vars+1) leaves if the layer is the
	// one above them. N0 is then room for 2^Vars elements in which N0 and N1
	// come to lie, and D0 the leaves' denominators.
	LeafNum Ptr
}

// Round does round j, 0 ≤ j < Vars, with the variable of the one before bound
// to r. The words at sums are posted.
func (l *LogUpRounds) Round(d Device, j int, r field.QM31, sums Ptr, p Post) error {
	if j < 0 || j >= l.Vars || l.Eq == nil || l.Eq.Vars != l.Vars {
		return fmt.Errorf("round %d of a layer of %d variables", j, l.Vars)
	}
	logPairs := l.Vars - 1 - j
	shape := looped(1<<logPairs, 1, sumBlocks)
	outer, inner, innerVars := uint64(l.Eq.outer), uint64(l.Eq.inner), uint64(l.Eq.innerVars)
	r0, r1 := pack(r)
	l0, l1 := pack(l.Lambda)
	launch := func(name string, args ...uint64) error {
		return d.Launch(Kernel{"logup", name}, shape, append(post(p, uint64(sums)), args...)...)
	}
	switch {
	case j == 0 && l.LeafNum == 0:
		return launch("logup_first_round", uint64(l.N0), uint64(l.D0), uint64(l.Vars), outer, inner, innerVars, l0, l1)
	case j == 0:
		return launch("logup_first_leaf_round", uint64(l.LeafNum), uint64(l.D0), uint64(l.Vars), outer, inner, innerVars, l0, l1)
	case j == 1 && l.LeafNum != 0:
		half := 1 << (l.Vars - 1)
		l.N1, l.D1 = At[field.QM31](l.N0, half), At[field.QM31](l.D0, half)
		err := launch("logup_second_leaf_round", uint64(l.N0), uint64(l.N1), uint64(l.LeafNum), uint64(l.D0), uint64(logPairs),
			outer, inner, innerVars, r0, r1, l0, l1)
		l.LeafNum = 0
		return err
	}
	return launch("logup_round", uint64(l.N0), uint64(l.N1), uint64(l.D0), uint64(l.D1), uint64(logPairs), outer, inner, innerVars, r0, r1)
}

// Gather copies the first size entries of the four tables to out, one table
// after the other.
func (l *LogUpRounds) Gather(d Device, out Ptr, size int) error {
	if size < 1 || l.LeafNum != 0 {
		return fmt.Errorf("gathering %d entries of a layer", size)
	}
	return d.Launch(Kernel{"logup", "logup_gather"}, Cover(size), uint64(out), uint64(l.N0), uint64(l.N1), uint64(l.D0), uint64(l.D1), uint64(size))
}
