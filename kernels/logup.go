package kernels

import (
	"fmt"
	"math/bits"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
)

// A LeafJob describes to the kernel how to make the leaves of one look-up step or one
// table, in words that LeafJobs writes.
type LeafJob [22]uint64

// LeafJobs describe the leaves of a LogUp tree: numerators in M31 and denominators in
// QM31. A leaf of a step is the fraction 1/(base − key + beta·out), one of a table is
// −count/(base − key + beta·value). Here beta is minus the protocol's challenge β.
type LeafJobs struct {
	Jobs   []LeafJob
	blocks int // number of blocks of threads that make the leaves
}

// leavesOfBlock is how many leaves a block makes.
const leavesOfBlock = 1024

// add adds a job of n leaves.
func (l *LeafJobs) add(n int, base field.QM31, words ...uint64) {
	job := LeafJob{0: uint64(l.blocks), 1: uint64(n)}
	copy(job[2:], words)
	job[20], job[21] = pack(base)
	l.Jobs = append(l.Jobs, job)
	l.blocks += (n-1)/leavesOfBlock + 1
}

// Step adds a look-up step of a dense shape dims, with its keys and outs; outs of a
// step that has none are at address 0. The shape is cut into blocks, in the order of
// model.Cut; the 64-bit words at offsets say where each block begins among the leaves.
func (l *LeafJobs) Step(keys, outs Integers, offsets Ptr, dims []int, base field.QM31) error {
	all, n, err := axes(dims)
	if err != nil {
		return err
	}
	words := []uint64{uint64(keys.At), uint64(outs.At), uint64(keys.Width), uint64(outs.Width), uint64(offsets), 0, 0, 0, 0}
	l.add(n, base, append(words, all...)...)
	return nil
}

// Table adds a table, whose leaves begin at place. If the table has pieces, its values
// are computed from these, which are at the address `pieces` (TablePieces); else they are
// values, which may be at 0.
func (l *LeafJobs) Table(t *model.Table, counts, values Integers, pieces Ptr, place int, base field.QM31) {
	words := make([]uint64, 18)
	copy(words, []uint64{uint64(counts.At), uint64(values.At), uint64(counts.Width), uint64(values.Width), 0,
		uint64(pieces), uint64(len(t.Pieces)), uint64(t.Drop), uint64(t.Min)})
	words[17] = uint64(place)
	l.add(1<<t.Bits, base, words...)
}

// TablePieces returns the pieces of a TablePiecewise table in the form that kernels read.
func TablePieces(t *model.Table) []uint64 {
	words := make([]uint64, 0, 3*len(t.Pieces))
	for _, p := range t.Pieces {
		words = append(words, uint64(p.End), uint64(p.Slope), uint64(p.Offset))
	}
	return words
}

// LogUpLeaves makes the leaves of all jobs of l, at least one. l.Jobs have been copied to the device, to jobs.
func LogUpLeaves(d Device, num, den Ptr, l *LeafJobs, jobs Ptr, beta field.QM31) error {
	if l.blocks < 1 {
		return fmt.Errorf("no leaves")
	}
	low, high := pack(beta)
	return d.Launch(Kernel{"logup", "logup_leaves"}, Launch{GridX: l.blocks, Block: 256}, uint64(num), uint64(den), uint64(jobs), uint64(len(l.Jobs)), low, high)
}

// topLayer is the size of the largest layer that one block makes together with all
// layers above it. A launch for each of these small layers would take more time.
const topLayer = 1 << 10

// LogUpTree adds up n > 4 leaves to the root of a tree. The leaves are padded, without being stored, by the fraction 0/1 to a power of
// two, 2^vars. num and den are heaps of 2^vars elements of K: layer k takes entries [2^k, 2^(k+1)), down to layer 0, the root. If all is
// not set the layer just above the leaves is not stored, and the heaps have half as many elements; LogUpAboveLeaves makes that layer.
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

// LogUpAboveLeaves makes the layer just above n leaves, which LogUpTree leaves out if all is not set. num and den receive this layer
// alone: half as many entries as n rounded up to a power of two.
func LogUpAboveLeaves(d Device, num, den, leafNum, leafDen Ptr, n int) error {
	if n <= 4 || n > 1<<40 {
		return fmt.Errorf("tree over %d leaves", n)
	}
	half := 1 << (bits.Len(uint(n-1)) - 1)
	return d.Launch(Kernel{"logup", "logup_above_leaves"}, Cover(half), uint64(num), uint64(den), uint64(leafNum), uint64(leafDen), uint64(half), uint64(n-half))
}

// LogUpRounds does the rounds of the sumcheck over one layer of the tree, of 2^Vars
// entries, two rounds at a time. Eq has the heaps of the sumcheck's point.
type LogUpRounds struct {
	Vars   int
	Eq     *EqHeaps
	Lambda field.QM31
	// Numerators and denominators of the two children of each entry: 2^Vars elements each
	// to begin with, and a quarter as many after every two rounds except the first two.
	// After four rounds N1 contains λ·D1 in addition.
	N0, N1, D0, D1 Ptr
	// LeafNum has the numerators of the leaves if the layer is the one just above them. D0
	// then has the leaves' denominators, and N0 is room for 2^(Vars−1) elements, to which
	// the kernel writes N0 and N1.
	LeafNum Ptr
	// Stored is how many entries of N1 and D1, or leaves of the second half, are stored,
	// 2^Vars at most. The others stand for the fraction 0/1.
	Stored int
	// InLanes is the number of quads of entries up to which a pass takes less time with 16 lanes for each quad than with
	// one.
	InLanes int
}

// stored returns how many entries of tables of n entries are stored.
func (l *LogUpRounds) stored(n int) uint64 { return uint64(min(l.Stored, n)) }

// wideBlock is the number of threads of a block in which each thread takes one quad. wideBlocks
// is how many of these blocks run at once.
const (
	wideBlock  = 128
	wideBlocks = 132 * 3
)

// TwoRounds does the rounds j and j + 1. It first binds the variables of the two rounds before to
// the pending challenges; there are none if j = 0. The sums are those of type TwoRounds, with the
// eq weights of the variables after these two.
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

// Rest binds the tables to the two pending challenges, and writes the four tables as they are
// after j rounds, one after the other: 4·2^(Vars − j) elements. The N1 that it writes does not
// contain λ·D1.
func (l *LogUpRounds) Rest(d Device, j int, pending []field.QM31, p Post) error {
	if j < 2 || j > l.Vars || !l.valid(j, pending) || l.LeafNum != 0 {
		return fmt.Errorf("the rest of a layer of %d variables after %d rounds, %d challenges", l.Vars, j, len(pending))
	}
	size := 1 << (l.Vars - j)
	lambda := l.Lambda
	if j == 2 { // N1 does not contain λ·D1 yet
		lambda = field.Zero
	}
	l0, l1 := pack(lambda)
	return d.Launch(Kernel{"logup", "logup_rest"}, small(4*size), p.elements(append([]uint64{
		uint64(l.N0), uint64(l.N1), uint64(l.D0), uint64(l.D1), uint64(size), l0, l1, l.stored(size << len(pending))}, challenges(pending)...)...)...)
}

// valid says whether the tables can be bound to these challenges after j rounds.
func (l *LogUpRounds) valid(j int, pending []field.QM31) bool {
	return l.Stored >= 0 && l.Stored <= 1<<l.Vars && len(pending) == min(j, 2) && (l.LeafNum != 0 || j > 0 || l.Stored == 1<<l.Vars)
}

// RowSums describe weighted sums over parts of the columns of a matrix of Rows ×
// Columns entries. Order (32 bits each) lists the columns of all parts, those of part p
// in places Ends[p−1] to Ends[p] − 1 (64 bits each). Weights (QM31) has a weight for
// each place.
type RowSums struct {
	Rows, Columns, Parts int
	Order, Ends, Weights Ptr
}

// A RowJob describes to the kernel how to sum parts of the rows of one step, in words that RowJobs writes.
type RowJob [14]uint64

// RowJobs describe sums over parts of rows, of several steps.
type RowJobs struct {
	Jobs []RowJob
	Sums int // number of sums of all jobs
}

// Add adds the Rows·Parts sums of key + β·out of a look-up step; outs of a step that has none
// are at address 0. These sums are numbered from the former l.Sums on.
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

// LogUpRowSums sets the l.Sums elements of K at out to the sums of all jobs, at least one.
// l.Jobs have been copied to the device, to jobs.
func LogUpRowSums(d Device, out Ptr, l *RowJobs, jobs Ptr) error {
	return d.Launch(Kernel{"logup", "logup_row_sums"}, Launch{GridX: l.Sums, Block: 128}, uint64(out), uint64(jobs), uint64(len(l.Jobs)))
}

// A ColumnJob describes to the kernel how to sum the columns of one step, in words that ColumnJobs writes.
type ColumnJob [11]uint64

// ColumnJobs describe sums over rows, of several steps.
type ColumnJobs struct {
	Jobs   []ColumnJob
	Sums   int // number of sums of all jobs
	blocks int
}

// A block of logup_column_sums takes columnsOfBlock columns, and at least leastRows rows. A
// job has about mostBlocks blocks at most.
const (
	columnsOfBlock = 256
	leastRows      = 64
	mostBlocks     = 1 << 10
)

// Add adds, for each column of a look-up step, the weighted sum over `rows` rows of key + β·out.
// weights are the weights of the rows (QM31), and scaled are β times these; outs of a step that
// has none are at address 0. These sums are numbered from the former l.Sums on.
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

// LogUpColumnSums sets the l.Sums elements of K at out to the sums of all jobs, at least one.
// l.Jobs have been copied to the device, to jobs.
func LogUpColumnSums(d Device, out Ptr, l *ColumnJobs, jobs Ptr) error {
	return withSums(d, out, l.Sums, func(sums Ptr) error {
		return d.Launch(Kernel{"logup", "logup_column_sums"}, Launch{GridX: l.blocks, Block: columnsOfBlock / 4}, uint64(sums), uint64(jobs), uint64(len(l.Jobs)))
	})
}
