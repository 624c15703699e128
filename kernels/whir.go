package kernels

import (
	"fmt"
	"iter"
	"slices"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
)

// StackBlock is a block of a stack of integers. Its entry i is the entry of Values at this index: i mod 2^Run, plus, for each of Axes
// axes from number FirstAxis on, the last axis first, the next Bits bits of i / 2^Run times the axis' Stride.
type StackBlock struct {
	Values               Ptr
	Width                uint64 // bytes of an entry: 1, 2 or 4
	Run, FirstAxis, Axes uint64
}

// StackAxis is an axis of a StackBlock.
type StackAxis struct{ Bits, Stride uint64 }

// Stack is a stack of Count blocks on the device. Offsets has the index of the first
// entry of each block, in increasing order, and the end of the last block; entries
// beyond that are zero.
type Stack struct {
	Offsets, Blocks, Axes Ptr
	Count                 int
}

// PackStack writes n entries of a stack, from entry `from` on, to dst as 32-bit integers.
func PackStack(d Device, dst Ptr, n int, from uint64, s Stack) error {
	const each = 4096 // PACKED of whir.cu
	return Kernel{"whir", "pack_stack"}.of(n, s.Count).launch(d, Launch{GridX: (n + each - 1) / each, Block: threads}, uint64(dst), uint64(n), from, uint64(s.Offsets), uint64(s.Blocks), uint64(s.Count), uint64(s.Axes))
}

// WeightPart says where the two tables of a weight over Vars variables are. The weight
// of an index is the product of an entry of each: that of the lower min(Vars, 8) bits,
// in the table of elements of K that begins at element Low of a common array, and that
// of the upper bits, in the table at element High. Factors is the index of the first of
// the Vars factors that the weight is made of (MakeWeights).
type WeightPart struct{ High, Low, Vars, Factors uint64 }

// lowVars is LOW of whir.cu.
const lowVars = 8

// WeightSizes returns the number of elements of the two tables of a weight over vars
// variables: that for the upper bits of an index, and that for the lower.
func WeightSizes(vars int) (high, low int) {
	l := min(vars, lowVars)
	return 1 << (vars - l), 1 << l
}

// weightPieces returns the number of blocks of threads for a weight over vars variables
// (PIECE of whir.cu).
func weightPieces(vars int) int {
	high, _ := WeightSizes(vars)
	return (high + 31) / 32
}

// WeightLaunch returns a launch for jobs, at least one, over these numbers of
// variables, and the first block of each job.
func WeightLaunch(vars []int) (first []uint64, l Launch) {
	first = make([]uint64, len(vars))
	for i, v := range vars {
		_, low := WeightSizes(v)
		first[i] = uint64(l.GridX)
		l.GridX += weightPieces(v)
		l.Block = max(l.Block, low, 32)
	}
	return first, l
}

// MakeWeights fills the tables of n weights. A weight is a product over the bits b of
// an index, the lowest bit first: of factor^b or, if eq is set, of
// (1−factor)^(1−b)·factor^b.
func MakeWeights(d Device, tables, parts, factors Ptr, n int, eq bool) error {
	var e uint64
	if eq {
		e = 1
	}
	return Kernel{"whir", "make_weights"}.of(n).launch(d, Launch{GridX: n, Block: threads}, uint64(tables), uint64(parts), uint64(factors), e)
}

// DotJob is an inner product of a row in planes (ByteRows), whose bytes lack Bias, with
// weight Part: the sum over 2^Vars entries, every 2^Stride-th one from Bytes on.
type DotJob struct {
	Bytes                            Ptr
	Part, Stride, Width, Pitch, Bias uint64
}

// Dots adds the results of n jobs to n sums of four words each. It uses multiply-adds, not tensor
// cores. first, on the device, and l are what WeightLaunch returns for the jobs.
func Dots(d Device, sums, first Ptr, l Launch, jobs Ptr, n int, parts, tables Ptr) error {
	return Kernel{"whir", "dots"}.of(n).launch(d, l, uint64(sums), uint64(first), uint64(jobs), uint64(n), uint64(parts), uint64(tables))
}

// AddJob adds Coef times weight Part to every 2^Stride-th element of a table, from
// element Start on.
type AddJob struct {
	Start, Part, Stride uint64
	_                   uint64
	Coef                field.QM31
}

// AddWeights does n jobs on the table q of elements of K. No two jobs may change the
// same element. first, on the device, and l are what WeightLaunch returns for the jobs.
func AddWeights(d Device, q, first Ptr, l Launch, jobs Ptr, n int, parts, tables Ptr) error {
	return Kernel{"whir", "add_weights"}.of(n).launch(d, l, uint64(q), uint64(first), uint64(jobs), uint64(n), uint64(parts), uint64(tables))
}

// RowPart is a part of a row: Coef times weight Part on every 2^Stride-th element of the row
// from element Column on, and 0 elsewhere. All of these elements lie within 2^(Vars + Stride)
// elements that begin at a multiple of that number.
type RowPart struct {
	Part           uint64
	Column, Stride uint32
	Coef           field.QM31
}

// RowParts are rows on the device, each a sum of parts. First and All are those of ListParts, Parts and Tables those of
// MakeWeights.
type RowParts struct {
	First, All, Parts, Tables Ptr
	Long, Others              bool // as in PartList
}

// PartList lists the parts of rows. A row has PartLists lists; list i has the elements First[i] to First[i+1] − 1 of All. Long says that
// there are long parts, and Others that there are other parts. All has at least one element, since the device has no empty memory.
type PartList struct {
	First        []uint64
	All          []RowPart
	Long, Others bool
}

// nearVars is NEAR of weights.cuh.
const nearVars = 12

// The first lists of a row, by number. The lists of short parts follow, from nearLists on.
const (
	longList = iota
	farList
	nearLists
)

// PartLists returns the number of lists of parts of a row of 2^vars elements. The first has the long parts, which cover 2^12 or more
// consecutive elements. The second has other parts that reach over more than 2^12 elements. The others are one for each 2^12 elements of
// the row, with the parts that lie within these. So for each element, only those short parts are looked at that may cover it.
func PartLists(vars int) int { return nearLists + max(1, 1<<vars>>nearVars) }

// ListParts lists the parts of rows of 2^vars elements. parts yields each part with the number of its row; it is iterated twice, and
// must yield the same both times. Weight p.Part is over 2^weights[p.Part] indexes.
func ListParts(rows, vars int, weights []int, parts iter.Seq2[int, RowPart]) *PartList {
	each := PartLists(vars)
	long := func(p *RowPart) bool { return p.Stride == 0 && weights[p.Part] >= nearVars }
	list := func(row int, p *RowPart) int {
		switch {
		case long(p):
			return row*each + longList
		case weights[p.Part]+int(p.Stride) > nearVars:
			return row*each + farList
		}
		return row*each + nearLists + int(p.Column)>>nearVars
	}
	l := &PartList{First: make([]uint64, rows*each+1)}
	for row, p := range parts {
		l.First[list(row, &p)+1]++
		l.Long, l.Others = l.Long || long(&p), l.Others || !long(&p)
	}
	for i := range rows * each {
		l.First[i+1] += l.First[i]
	}
	next := slices.Clone(l.First)
	l.All = make([]RowPart, max(1, l.First[rows*each]))
	for row, p := range parts {
		at := &next[list(row, &p)]
		l.All[*at] = p
		*at++
	}
	return l
}

// FillRows sets n rows of 2^vars elements of K each, at out, to the sums of their parts.
func FillRows(d Device, out Ptr, n, vars int, r RowParts) (err error) {
	defer must.Catch(&err)
	k := Kernel{"whir", "fill_rows"}
	if vars < 0 || vars > code.MaxLogSize || n < 1 {
		return fmt.Errorf("%w: %s of %d of 2^%d", ErrSize, k.Name, n, vars)
	}
	add := uint64(0) // 1 to add to the sums of long parts, which fill_long sets
	if r.Long {
		must.OK(r.launch(d, Kernel{"whir", "fill_long"}, out, n, 1<<vars, vars))
		add = 1
	}
	if r.Long && !r.Others {
		return nil
	}
	return r.launch(d, k, out, n, 1<<vars, vars, add)
}

// launch launches a kernel in which a thread takes four elements of a row of `size` elements.
func (r RowParts) launch(d Device, k Kernel, out Ptr, n, size, vars int, more ...uint64) error {
	const each = 4
	args := []uint64{uint64(out), uint64(r.First), uint64(vars), uint64(r.All), uint64(r.Parts), uint64(r.Tables)}
	return d.Launch(k, Launch{GridX: n * ((size + each*threads - 1) / (each * threads)), Block: threads}, append(args, more...)...)
}

// DotWeight adds the inner product of the 2^vars elements of K at f with the first
// weight of parts, over as many indexes, to a sum of four words.
func DotWeight(d Device, sum, f Ptr, vars int, parts, tables Ptr) error {
	k := Kernel{"whir", "dot_weight"}
	if vars < 0 || vars > code.MaxLogSize {
		return fmt.Errorf("%w: %s over 2^%d", ErrSize, k.Name, vars)
	}
	return d.Launch(k, Launch{GridX: weightPieces(vars), Block: threads}, uint64(sum), uint64(f), uint64(parts), uint64(tables))
}

// FinishDot describes a rectangle of sums of products of weights with rows. The sum for row
// h·Pitch + l, for h below the number of long rows and l < Places, is an element of K: its
// limbs are in words of Sums, the first in word (h·Pitch + l)·Target, each of the others Limb
// words behind the one before it. To the sum is added Coef times the 32-bit entry h·Pitch + l
// of Biases, unless Biases is 0. The result is added to column Column + l of row h of a table.
type FinishDot struct {
	Sums, Biases                Ptr
	Limb, Target, Places, Pitch uint32
	Column, _                   uint64
	Coef                        field.QM31
}

// FinishDots adds the results of all jobs to entries of a table at out, with `longs` rows of
// `columns` columns. No two results may go to the same entry.
func FinishDots(d Device, out Ptr, longs, columns int, jobs []FinishDot) (err error) {
	defer must.Catch(&err)
	k := Kernel{"whir", "finish_dots"}
	must.OK(positive(k, longs, columns, len(jobs)))
	first := make([]uint64, len(jobs))
	blocks := 0
	for i, j := range jobs {
		if j.Pitch < j.Places {
			return fmt.Errorf("%w: %s of %d places of %d", ErrSize, k.Name, j.Places, j.Pitch)
		}
		first[i] = uint64(blocks)
		blocks += (longs*int(j.Places) + threads - 1) / threads
	}
	return launchJobs(d, k, blocks, []uint64{uint64(out)}, first, jobs, uint64(longs), uint64(columns))
}

// PlacedElement is an element of K, with its index in a table.
type PlacedElement struct {
	At, _ uint64
	Value field.QM31
}

// PutElements sets n elements of a table. No two may have the same index.
func PutElements(d Device, table, elements Ptr, n int) error {
	return Kernel{"whir", "put_elements"}.of(n).each(d, n, uint64(table), uint64(elements), uint64(n))
}

// PointWeight is Coef times the functional that evaluates at Z.
type PointWeight struct {
	Coef field.QM31
	Z    field.M31
	_    [3]field.M31
}

// AddPoints adds the weights of n points in the base field to the table q of 2^vars
// elements of K (whir.Constraints). scratch has PointScratch bytes.
func AddPoints(d Device, q Ptr, vars int, points Ptr, n int, scratch Ptr) error {
	lower, upper, err := makePoints(d, vars, points, n, scratch)
	if err != nil {
		return err
	}
	high, low := WeightSizes(vars)
	const upperAtOnce = 4 // UPPER of whir.cu
	return d.Launch(Kernel{"whir", "add_points"}, Launch{GridX: (high + upperAtOnce - 1) / upperAtOnce, Block: max(low, 32)},
		uint64(q), uint64(lower), uint64(upper), uint64(n), uint64(vars))
}

// makePoints makes, in scratch, the two tables of the weights of n points: M31 for the
// lower bits of an index, and elements of K for the upper bits.
func makePoints(d Device, vars int, points Ptr, n int, scratch Ptr) (lower, upper Ptr, err error) {
	if vars < 0 || vars > code.MaxLogSize || n < 1 {
		return 0, 0, fmt.Errorf("%w: weights of %d points over 2^%d", ErrSize, n, vars)
	}
	high, _ := WeightSizes(vars)
	upper = scratch
	lower = scratch.Offset(n*high, SizeQM31)
	return lower, upper, d.Launch(Kernel{"whir", "make_points"}, Launch{GridX: n, Block: threads}, uint64(lower), uint64(upper), uint64(points), uint64(vars))
}

// PointScratch returns how many bytes of scratch memory AddPoints needs.
func PointScratch(vars, n int) int {
	high, low := WeightSizes(vars)
	return n * (high*SizeQM31 + low*SizeM31)
}

// roundBlocks is the greatest number of blocks of a round: enough to fill a device, and
// so few that adding up their sums takes little time.
const roundBlocks = 1 << 11

// roundLaunch is a launch for a number of pairs of entries.
func roundLaunch(pairs int) Launch {
	return Launch{GridX: min(roundBlocks, (pairs+threads-1)/threads), Block: threads}
}

// paired checks that tables have n elements, a positive multiple of `unit`.
func paired(name string, n, unit int) sized {
	return Kernel{"whir", name}.of().unless(n < unit || n%unit != 0, "of %d", n)
}

// PairRound makes the two sums of a sumcheck round over tables f and q of n elements of
// K, n even: the value at 0 and the leading coefficient of X ↦ Σ_x f(X, x)·q(X, x).
func PairRound(d Device, f, q Ptr, n int, p Post) error {
	return paired("pair_round", n, 2).launch(d, roundLaunch(n/2), p.sums(uint64(f), uint64(q), uint64(n/2))...)
}

// PairBind binds the first variable of f and q, of n elements of K each, to r in place, and
// then makes the sums of PairRound for the result. n is a multiple of 4.
func PairBind(d Device, f, q Ptr, n int, r field.QM31, p Post) error {
	low, high := pack(r)
	return paired("pair_bind", n, 4).launch(d, roundLaunch(n/4), p.sums(uint64(f), uint64(q), uint64(n/4), low, high)...)
}

// PairEnd binds the first variable of f and q, of n elements of K each, n even, to r in place.
func PairEnd(d Device, f, q Ptr, n int, r field.QM31) error {
	low, high := pack(r)
	return paired("pair_end", n, 2).launch(d, roundLaunch(n/2), uint64(f), uint64(q), uint64(n/2), low, high)
}
