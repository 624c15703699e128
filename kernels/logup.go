package kernels

import (
	"fmt"
	"math/bits"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
)

// A LeafJob tells the kernel how to make the leaves of one look-up step or one table: words
// that LeafJobs writes.
type LeafJob [22]uint64

// LeafJobs are the leaves of a tree: numerators (M31) and denominators (QM31). A leaf of a
// step is 1/(base − key + beta·out), one of a table −count/(base − key + beta·value).
// (Beta is minus the challenge β.)
type LeafJobs struct {
	Jobs   []LeafJob
	blocks int
}

// leavesOfBlock is how many leaves a block makes.
const leavesOfBlock = 1024

func (l *LeafJobs) add(n int, base field.QM31, words ...uint64) {
	job := LeafJob{0: uint64(l.blocks), 1: uint64(n)}
	copy(job[2:], words)
	job[20], job[21] = pack(base)
	l.Jobs = append(l.Jobs, job)
	l.blocks += (n-1)/leavesOfBlock + 1
}

// Step adds a look-up step over a dense shape, with its keys and outs; a step without
// outs has none at address 0. The shape is cut into blocks, in the order of model.Cut,
// whose places among the leaves are the 64-bit words at offsets.
func (l *LeafJobs) Step(keys, outs Integers, offsets Ptr, dims []int, base field.QM31) error {
	all, n, err := axes(dims)
	if err != nil {
		return err
	}
	words := []uint64{uint64(keys.At), uint64(outs.At), uint64(keys.Width), uint64(outs.Width), uint64(offsets), 0, 0, 0, 0}
	l.add(n, base, append(words, all...)...)
	return nil
}

// Table adds a table, the first of whose leaves is at place. Its values are those of its
// pieces, which are at an address (TablePieces), if it has any, else values, which may be
// at 0.
func (l *LeafJobs) Table(t *model.Table, counts, values Integers, pieces Ptr, place int, base field.QM31) {
	words := make([]uint64, 18)
	copy(words, []uint64{uint64(counts.At), uint64(values.At), uint64(counts.Width), uint64(values.Width), 0,
		uint64(pieces), uint64(len(t.Pieces)), uint64(t.Drop), uint64(t.Min)})
	words[17] = uint64(place)
	l.add(1<<t.Bits, base, words...)
}

// TablePieces are the pieces of a TablePiecewise table as kernels read them.
func TablePieces(t *model.Table) []uint64 {
	words := make([]uint64, 0, 3*len(t.Pieces))
	for _, p := range t.Pieces {
		words = append(words, uint64(p.End), uint64(p.Slope), uint64(p.Offset))
	}
	return words
}

// LogUpLeaves makes the leaves of all jobs, at least one, which are on the device at jobs.
func LogUpLeaves(d Device, num, den Ptr, l *LeafJobs, jobs Ptr, beta field.QM31) error {
	if l.blocks < 1 {
		return fmt.Errorf("no leaves")
	}
	low, high := pack(beta)
	return d.Launch(Kernel{"logup", "logup_leaves"}, Launch{GridX: l.blocks, Block: 256}, uint64(num), uint64(den), uint64(jobs), uint64(len(l.Jobs)), low, high)
}

// topLayer is the largest layer that one block makes, with all above it: so small ones
// take less time than a launch each.
const topLayer = 1 << 10

// LogUpTree adds up n > 4 leaves, to which 0/1 is added in thought up to a power of
// two, 2^vars. num and den are heaps of 2^vars elements of K: layer k goes to entries
// [2^k, 2^(k+1)), down to layer 0. Unless all is set they are of half as many: the layer above the leaves is left out (LogUpAboveLeaves).
func LogUpTree(d Device, num, den, leafNum, leafDen Ptr, n int, all bool) error {
	if n <= 4 || n > 1<<40 {
		return fmt.Errorf("tree over %d leaves", n)
	}
	half, stored := 1<<(bits.Len(uint(n-1))-1), uint64(0)
	if all {
		stored = 1
	}
	err := d.Launch(Kernel{"logup", "logup_first_layers"}, Cover(half/4), uint64(num), uint64(den), uint64(leafNum), uint64(leafDen), uint64(half), uint64(n-half), stored)
	for half /= 8; half > topLayer && err == nil; half /= 8 {
		err = d.Launch(Kernel{"logup", "logup_layers"}, Cover(half/4), uint64(num), uint64(den), uint64(half))
	}
	if half < 1 || err != nil {
		return err
	}
	return d.Launch(Kernel{"logup", "logup_top"}, Launch{GridX: 1, Block: 512}, uint64(num), uint64(den), uint64(half))
}

// LogUpAboveLeaves makes the layer above the leaves of such a tree, of half as many entries as n filled up to a power of two. num and den are
// its own.
func LogUpAboveLeaves(d Device, num, den, leafNum, leafDen Ptr, n int) error {
	if n <= 4 || n > 1<<40 {
		return fmt.Errorf("tree over %d leaves", n)
	}
	half := 1 << (bits.Len(uint(n-1)) - 1)
	return d.Launch(Kernel{"logup", "logup_above_leaves"}, Cover(half), uint64(num), uint64(den), uint64(leafNum), uint64(leafDen), uint64(half), uint64(n-half))
}

// LogUpRounds does the rounds of the sumcheck over one layer of the tree, of
// 2^Vars entries, two at a time; Eq are the heaps of its point.
type LogUpRounds struct {
	Vars   int
	Eq     *EqHeaps
	Lambda field.QM31
	// Tables of the layer, 2^Vars elements each to begin with, and a quarter as many
	// after every two rounds but the first. N1 has λ·D1 in it after four rounds.
	N0, N1, D0, D1 Ptr
	// LeafNum are the numerators of the leaves if the layer is the one above them.
	// N0 is then room for 2^(Vars−1) elements in which N0 and N1 come to lie, and D0 the
	// leaves' denominators.
	LeafNum Ptr
	// Stored is how many entries of N1 and D1, or leaves of the second half, are
	// there, 2^Vars at most: the others stand for the fraction 0/1.
	Stored int
	// InLanes is up to how many quads of entries 16 lanes for each take less time than one.
	InLanes int
}

// stored is Stored in tables of n entries.
func (l *LogUpRounds) stored(n int) uint64 { return uint64(min(l.Stored, n)) }

// wideBlock is the number of threads of a block that takes a thread for each quad, and wideBlocks
// how many of these blocks run at once.
const (
	wideBlock  = 128
	wideBlocks = 132 * 3
)

// TwoRounds does the rounds j and j + 1, with the variables of the two before bound to the pending
// challenges, of which there are none in the first. Its sums are those of type TwoRounds, with the
// weights of the variables after the two.
func (l *LogUpRounds) TwoRounds(d Device, j int, pending []field.QM31, p Post) error {
	if j < 0 || j+2 > l.Vars || l.Eq == nil || l.Eq.Vars != l.Vars || !l.valid(j, pending) || l.LeafNum != 0 && j > 2 {
		return fmt.Errorf("two rounds from %d on of a layer of %d variables, %d challenges", j, l.Vars, len(pending))
	}
	logQuads := l.Vars - 2 - j
	wide := Launch{GridX: max(1, min((1<<logQuads-1)/wideBlock+1, wideBlocks)), Block: wideBlock}
	leafNum, leafDen := l.LeafNum, l.D0
	if leafNum != 0 && j == 2 {
		l.LeafNum = 0
		l.N1, l.D1 = At[field.QM31](l.N0, 4<<logQuads), At[field.QM31](l.D0, 1<<l.Vars)
	}
	lacks := uint64(0)
	if j <= 2 {
		lacks = 1
	}
	l0, l1 := pack(l.Lambda)
	args := append([]uint64{uint64(l.N0), uint64(l.N1), uint64(l.D0), uint64(l.D1), uint64(logQuads),
		uint64(l.Eq.outer), uint64(l.Eq.inner), uint64(l.Eq.innerVars), l0, l1, l.stored(4 << logQuads << len(pending)), lacks}, challenges(pending)...)
	switch {
	case leafNum != 0:
		var inverse field.QM31
		if !l.Lambda.IsZero() {
			inverse = l.Lambda.Inv()
		}
		c0, c1 := pack(inverse)
		args = append(args, uint64(leafNum), uint64(leafDen), 1<<l.Vars, c0, c1)
		return d.Launch(Kernel{"logup", "logup_leaf_rounds"}, wide, p.sums(args...)...)
	case 1<<logQuads <= l.InLanes:
		return d.Launch(Kernel{"logup", "logup_rounds_in_lanes"}, looped(16<<logQuads, 1, resident), p.sums(args...)...)
	}
	return d.Launch(Kernel{"logup", "logup_rounds"}, wide, p.sums(args...)...)
}

// Rest writes what is left of the four tables after j rounds, one after the other, 4·2^(Vars − j)
// elements, bound to the two pending challenges. To what is written N1 goes without λ·D1.
func (l *LogUpRounds) Rest(d Device, j int, pending []field.QM31, p Post) error {
	if j < 2 || j > l.Vars || !l.valid(j, pending) || l.LeafNum != 0 {
		return fmt.Errorf("the rest of a layer of %d variables after %d rounds, %d challenges", l.Vars, j, len(pending))
	}
	size := 1 << (l.Vars - j)
	lambda := l.Lambda
	if j == 2 { // it is not in N1 yet
		lambda = field.Zero
	}
	l0, l1 := pack(lambda)
	return d.Launch(Kernel{"logup", "logup_rest"}, small(4*size), p.elements(append([]uint64{
		uint64(l.N0), uint64(l.N1), uint64(l.D0), uint64(l.D1), uint64(size), l0, l1, l.stored(size << len(pending))}, challenges(pending)...)...)...)
}

// valid says whether the tables may be bound to the challenges after j rounds.
func (l *LogUpRounds) valid(j int, pending []field.QM31) bool {
	return l.Stored >= 0 && l.Stored <= 1<<l.Vars && len(pending) == min(j, 2) && (l.LeafNum != 0 || j > 0 || l.Stored == 1<<l.Vars)
}

// RowSums are weights on parts of the columns of a matrix: Order (32 bits each) lists
// the columns of part p from End p−1 on up to End p (64 bits each), and Weights
// (QM31) the weights in this order.
type RowSums struct {
	Rows, Columns, Parts int
	Order, Ends, Weights Ptr
}

// A RowJob tells the kernel how to sum parts of the rows of one step: words that RowJobs writes.
type RowJob [14]uint64

// RowJobs are sums over parts of rows, of several steps.
type RowJobs struct {
	Jobs []RowJob
	Sums int // of all jobs
}

// Add adds the Rows·Parts sums of key + β·out of a look-up step. A step without outs has none at
// address 0. The sums are those from l.Sums on.
func (l *RowJobs) Add(keys, outs Integers, r RowSums, beta field.QM31) error {
	if r.Rows < 1 || r.Columns < 1 || r.Parts < 1 || r.Parts > r.Columns {
		return fmt.Errorf("sums of %d parts of %d rows of %d entries", r.Parts, r.Rows, r.Columns)
	}
	b0, b1 := pack(beta)
	// A block makes one sum.
	l.Jobs = append(l.Jobs, RowJob{uint64(l.Sums), uint64(keys.At), uint64(outs.At), uint64(keys.Width), uint64(outs.Width), uint64(r.Columns), uint64(r.Parts),
		uint64(r.Order), uint64(r.Ends), uint64(r.Weights), uint64(l.Sums), 0, b0, b1})
	l.Sums += r.Rows * r.Parts
	return nil
}

// LogUpRowSums sets the l.Sums elements at out to the sums of all jobs, at least one, which are
// on the device at jobs.
func LogUpRowSums(d Device, out Ptr, l *RowJobs, jobs Ptr) error {
	return d.Launch(Kernel{"logup", "logup_row_sums"}, Launch{GridX: l.Sums, Block: 128}, uint64(out), uint64(jobs), uint64(len(l.Jobs)))
}

// A ColumnJob tells the kernel how to sum the columns of one step: words that ColumnJobs writes.
type ColumnJob [11]uint64

// ColumnJobs are sums over rows, of several steps.
type ColumnJobs struct {
	Jobs   []ColumnJob
	Sums   int // of all jobs
	blocks int
}

// A block of logup_column_sums takes columnsOfBlock columns, and leastRows rows or more; of
// one job there are about mostBlocks.
const (
	columnsOfBlock = 256
	leastRows      = 64
	mostBlocks     = 1 << 10
)

// Add adds the sums over `rows` rows of key + β·out, for all columns. Weights are those of rows
// (QM31), scaled the same times β; a step without outs has none at address 0. The sums are those
// from l.Sums on.
func (l *ColumnJobs) Add(keys, outs Integers, rows, columns int, weights, scaled Ptr) error {
	if rows < 1 || columns < 1 {
		return fmt.Errorf("sums of %d rows of %d entries", rows, columns)
	}
	pieces := (columns + columnsOfBlock - 1) / columnsOfBlock
	chunk := min(max(leastRows, (rows*pieces+mostBlocks-1)/mostBlocks), maxTerms)
	l.Jobs = append(l.Jobs, ColumnJob{uint64(l.blocks), uint64(keys.At), uint64(outs.At), uint64(keys.Width), uint64(outs.Width),
		uint64(rows), uint64(columns), uint64(chunk), uint64(weights), uint64(scaled), uint64(l.Sums)})
	l.blocks += pieces * ((rows + chunk - 1) / chunk)
	l.Sums += columns
	return nil
}

// LogUpColumnSums sets the l.Sums elements at out to the sums of all jobs, at least one, which
// are on the device at jobs.
func LogUpColumnSums(d Device, out Ptr, l *ColumnJobs, jobs Ptr) error {
	return withSums(d, out, l.Sums, func(sums Ptr) error {
		return d.Launch(Kernel{"logup", "logup_column_sums"}, Launch{GridX: l.blocks, Block: columnsOfBlock / 4}, uint64(sums), uint64(jobs), uint64(len(l.Jobs)))
	})
}
