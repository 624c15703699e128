package kernels

import (
	"fmt"
	"math/bits"

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

// LogUpStepLeaves sets numerators (M31) and denominators (QM31) of a look-up step
// over a dense shape, from its keys and outs; a step without outs has none at
// address 0. The shape is cut into blocks, in the order of model.Cut, whose places
// among the leaves are the 64-bit words at offsets.
func LogUpStepLeaves(d Device, num, den Ptr, keys, outs Integers, offsets Ptr, dims []int, b LookupBase) error {
	all, n, err := axes(dims)
	if err != nil {
		return err
	}
	w := b.words()
	args := []uint64{uint64(num), uint64(den), uint64(n), uint64(keys.At), uint64(keys.Width), uint64(outs.At), uint64(outs.Width), uint64(offsets)}
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

// LogUpTree adds up n ≥ 2 leaves, to which 0/1 is added in thought up to a power of
// two, 2^vars. num and den are heaps of 2^vars elements of K: layer k goes to entries
// [2^k, 2^(k+1)), down to layer 0.
func LogUpTree(d Device, num, den, leafNum, leafDen Ptr, n int) error {
	if n < 2 || n > 1<<40 {
		return fmt.Errorf("tree over %d leaves", n)
	}
	half := 1 << (bits.Len(uint(n-1)) - 1)
	err := d.Launch(Kernel{"logup", "logup_first_layer"}, Cover(half), uint64(At[field.QM31](num, half)), uint64(At[field.QM31](den, half)),
		uint64(leafNum), uint64(leafDen), uint64(half), uint64(n-half))
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
	// LeafNum are the numerators of the leaves if the layer is the one above them.
	// N0 is then room for 2^Vars elements in which N0 and N1 come to lie, and D0 the
	// leaves' denominators.
	LeafNum Ptr
	// Stored is how many entries of N1 and D1, or leaves of the second half, are
	// there, 2^Vars at most: the others stand for the fraction 0/1.
	Stored int
}

// stored is Stored in tables of n entries.
func (l *LogUpRounds) stored(n int) uint64 { return uint64(min(l.Stored, n)) }

// Round does round j, 0 ≤ j < Vars, with the variable of the one before bound
// to r. The words at sums are posted.
func (l *LogUpRounds) Round(d Device, j int, r field.QM31, sums Ptr, p Post) error {
	if j < 0 || j >= l.Vars || l.Eq == nil || l.Eq.Vars != l.Vars || l.Stored < 0 || l.Stored > 1<<l.Vars || j == 0 && l.LeafNum == 0 && l.Stored < 1<<l.Vars {
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
		return launch("logup_first_leaf_round", uint64(l.LeafNum), uint64(l.D0), uint64(l.Vars), outer, inner, innerVars, l0, l1, l.stored(1<<l.Vars))
	case j == 1 && l.LeafNum != 0:
		half := 1 << (l.Vars - 1)
		l.N1, l.D1 = At[field.QM31](l.N0, half), At[field.QM31](l.D0, half)
		err := launch("logup_second_leaf_round", uint64(l.N0), uint64(l.N1), uint64(l.LeafNum), uint64(l.D0), uint64(logPairs),
			outer, inner, innerVars, r0, r1, l0, l1, l.stored(1<<l.Vars))
		l.LeafNum = 0
		return err
	}
	return launch("logup_round", uint64(l.N0), uint64(l.N1), uint64(l.D0), uint64(l.D1), uint64(logPairs), outer, inner, innerVars, r0, r1, l0, l1,
		l.stored(4<<logPairs))
}

// Gather copies the first size entries of the four tables to out, one table
// after the other.
func (l *LogUpRounds) Gather(d Device, out Ptr, size int) error {
	if size < 1 || l.LeafNum != 0 {
		return fmt.Errorf("gathering %d entries of a layer", size)
	}
	l0, l1 := pack(l.Lambda)
	return d.Launch(Kernel{"logup", "logup_gather"}, Cover(size), uint64(out), uint64(l.N0), uint64(l.N1), uint64(l.D0), uint64(l.D1), uint64(size),
		l0, l1, l.stored(size))
}

// RowSums are weights on parts of the columns of a matrix: Order (32 bits each) lists
// the columns of part p from End p−1 on up to End p (64 bits each), and Weights
// (QM31) the weights in this order.
type RowSums struct {
	Rows, Columns, Parts int
	Order, Ends, Weights Ptr
}

// LogUpRowSums sets the Rows·Parts elements at out to the sums of the column keys +
// beta·outs of a look-up step over the parts of each row. A step without outs has
// none at address 0.
func LogUpRowSums(d Device, out Ptr, keys, outs Integers, r RowSums, beta field.QM31) error {
	if r.Rows < 1 || r.Columns < 1 || r.Parts < 1 || r.Parts > r.Columns {
		return fmt.Errorf("sums of %d parts of %d rows of %d entries", r.Parts, r.Rows, r.Columns)
	}
	b0, b1 := pack(beta)
	return d.Launch(Kernel{"logup", "logup_row_sums"}, Launch{GridX: r.Rows * r.Parts, Block: 128}, uint64(out), uint64(keys.At), uint64(keys.Width),
		uint64(outs.At), uint64(outs.Width), uint64(r.Columns), uint64(r.Parts), uint64(r.Order), uint64(r.Ends), uint64(r.Weights), b0, b1)
}
