package kernels

import (
	"fmt"
	"iter"
	"slices"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
)

// StackBlock is a block of a stack of integers: its entry i is that of Values at i mod 2^Run plus, over Axes axes from FirstAxis on, the last axis
// first, the next Bits bits of i / 2^Run times Stride.
type StackBlock struct {
	Values               Ptr
	Width                uint64 // bytes an entry: 1, 2 or 4
	Run, FirstAxis, Axes uint64
}

// StackAxis is an axis of a StackBlock.
type StackAxis struct{ Bits, Stride uint64 }

// Stack is a stack of Count blocks on the device: Offsets has the first index of each,
// in increasing order, and the end of the last, beyond which entries are zero.
type Stack struct {
	Offsets, Blocks, Axes Ptr
	Count                 int
}

// PackStack sets n 32-bit integers at dst to entries of a stack, from entry `from` on.
func PackStack(d Device, dst Ptr, n int, from uint64, s Stack) error {
	const each = 4096 // PACKED of whir.cu
	return Kernel{"whir", "pack_stack"}.of(n, s.Count).launch(d, Launch{GridX: (n + each - 1) / each, Block: threads}, uint64(dst), uint64(n), from, uint64(s.Offsets), uint64(s.Blocks), uint64(s.Count), uint64(s.Axes))
}

// WeightPart says where the tables of one weight over Vars variables are: 2^min(Vars,
// 8) elements of K for the lower index bits from element Low of a common array on,
// and the others from High on; the weight is their product. Factors is the index of
// the first of its Vars factors.
type WeightPart struct{ High, Low, Vars, Factors uint64 }

// lowVars is LOW of whir.cu.
const lowVars = 8

// WeightSizes returns the number of elements of the two tables of a weight over
// vars variables.
func WeightSizes(vars int) (high, low int) {
	l := min(vars, lowVars)
	return 1 << (vars - l), 1 << l
}

// weightPieces is the number of blocks that a weight over vars variables takes
// (PIECE of whir.cu).
func weightPieces(vars int) int {
	high, _ := WeightSizes(vars)
	return (high + 31) / 32
}

// WeightLaunch returns a launch for jobs over these numbers of variables, at least
// one job, and the first block of each.
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

// MakeWeights fills the tables of n weights: Π over the bits b of an index, the
// lowest first, of factor^b, or with eq of (1−factor)^(1−b)·factor^b.
func MakeWeights(d Device, tables, parts, factors Ptr, n int, eq bool) error {
	var e uint64
	if eq {
		e = 1
	}
	return Kernel{"whir", "make_weights"}.of(n).launch(d, Launch{GridX: n, Block: threads}, uint64(tables), uint64(parts), uint64(factors), e)
}

// DotJob is the sum of 2^Vars entries, every 2^Stride-th from Bytes on, of a row in
// planes (ByteRows), which lack Bias, times weight Part.
type DotJob struct {
	Bytes                            Ptr
	Part, Stride, Width, Pitch, Bias uint64
}

// Dots adds the sums of n jobs to as many sums of four words, by multiply-adds. first, on the device,
// and l are what WeightLaunch gives for them.
func Dots(d Device, sums, first Ptr, l Launch, jobs Ptr, n int, parts, tables Ptr) error {
	return Kernel{"whir", "dots"}.of(n).launch(d, l, uint64(sums), uint64(first), uint64(jobs), uint64(n), uint64(parts), uint64(tables))
}

// AddJob adds Coef times weight Part to every 2^Stride-th element of a table from
// element Start on.
type AddJob struct {
	Start, Part, Stride uint64
	_                   uint64
	Coef                field.QM31
}

// AddWeights does n jobs on the table q of K. They must not overlap. first, on the
// device, and l are what WeightLaunch gives for them.
func AddWeights(d Device, q, first Ptr, l Launch, jobs Ptr, n int, parts, tables Ptr) error {
	return Kernel{"whir", "add_weights"}.of(n).launch(d, l, uint64(q), uint64(first), uint64(jobs), uint64(n), uint64(parts), uint64(tables))
}

// RowPart is Coef times weight Part on every 2^Stride-th element of a row from element
// Column on, and 0 elsewhere. All of these lie in the 2^(Vars + Stride) elements that begin at
// a multiple of as many.
type RowPart struct {
	Part           uint64
	Column, Stride uint32
	Coef           field.QM31
}

// RowParts are sums of parts, one a row, on the device, as ListParts has them, of weights with these Parts and Tables (MakeWeights).
type RowParts struct {
	First, All, Parts, Tables Ptr
	Long, Others              bool // what there is (PartList)
}

// PartList lists parts of rows: list i has those of All from number First[i] to First[i+1] − 1, and a row has PartLists of them. Long says
// that there are long parts, Others that there are others. All has one part at least, as there is no empty memory.
type PartList struct {
	First        []uint64
	All          []RowPart
	Long, Others bool
}

// nearVars is NEAR of weights.cuh.
const nearVars = 12

// The lists of a row, by number; those of short parts are the last.
const (
	longList = iota
	farList
	nearLists
)

// PartLists is how many lists of parts a row of 2^vars elements has: one of the long parts, with 2^12 elements next to each other or more, one
// of others that reach over more than 2^12 elements, and for each 2^12 elements one of those that lie within them. So an element looks at
// no short parts but those that may reach it.
func PartLists(vars int) int { return nearLists + max(1, 1<<vars>>nearVars) }

// ListParts lists parts of rows of 2^vars elements, of which `parts` gives the rows, with weights over 2^weights[p.Part] indexes. It
// goes through parts twice, which must be the same both times.
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

// FillRows sets n rows of 2^vars elements of K each at out to sums of parts.
func FillRows(d Device, out Ptr, n, vars int, r RowParts) (err error) {
	defer must.Catch(&err)
	k := Kernel{"whir", "fill_rows"}
	if vars < 0 || vars > code.MaxLogSize || n < 1 {
		return fmt.Errorf("%w: %s of %d of 2^%d", ErrSize, k.Name, n, vars)
	}
	add := uint64(0) // to what long parts come to
	if r.Long {
		must.OK(r.launch(d, Kernel{"whir", "fill_long"}, out, n, 1<<vars, vars))
		add = 1
	}
	if r.Long && !r.Others {
		return nil
	}
	return r.launch(d, k, out, n, 1<<vars, vars, add)
}

// launch launches a kernel whose blocks take four elements a thread of a row of size elements.
func (r RowParts) launch(d Device, k Kernel, out Ptr, n, size, vars int, more ...uint64) error {
	const each = 4
	args := []uint64{uint64(out), uint64(r.First), uint64(vars), uint64(r.All), uint64(r.Parts), uint64(r.Tables)}
	return d.Launch(k, Launch{GridX: n * ((size + each*threads - 1) / (each * threads)), Block: threads}, append(args, more...)...)
}

// DotWeight adds the sum of the 2^vars elements of K at f times the first weight
// of parts, which has as many, to a sum of four words.
func DotWeight(d Device, sum, f Ptr, vars int, parts, tables Ptr) error {
	k := Kernel{"whir", "dot_weight"}
	if vars < 0 || vars > code.MaxLogSize {
		return fmt.Errorf("%w: %s over 2^%d", ErrSize, k.Name, vars)
	}
	return d.Launch(k, Launch{GridX: weightPieces(vars), Block: threads}, uint64(sum), uint64(f), uint64(parts), uint64(tables))
}

// FinishDot is a rectangle of sums of products of weights with rows: that of row h·Pitch + l,
// for h below a number of long rows and l < Places, has its limbs in the words at Sums from
// number (h·Pitch + l)·Target on, each Limb behind the one before. To it comes Coef times the
// entry h·Pitch + l of Biases, 32 bits each, if that is not 0. It goes to column Column + l of
// row h of a table.
type FinishDot struct {
	Sums, Biases                Ptr
	Limb, Target, Places, Pitch uint32
	Column, _                   uint64
	Coef                        field.QM31
}

// FinishDots adds the products of all jobs, no two of which are one entry's, to entries of a
// table at out, of rows of as many columns.
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

// PlacedElement is an element of K with its place in a table.
type PlacedElement struct {
	At, _ uint64
	Value field.QM31
}

// PutElements sets elements of a table, n of them, all in places of their own.
func PutElements(d Device, table, elements Ptr, n int) error {
	return Kernel{"whir", "put_elements"}.of(n).each(d, n, uint64(table), uint64(elements), uint64(n))
}

// PointWeight is Coef times the functional of evaluation at Z.
type PointWeight struct {
	Coef field.QM31
	Z    field.M31
	_    [3]field.M31
}

// AddPoints adds the weights of n points to the table q of 2^vars elements of K
// (whir.Constraints, those in the base field). scratch has PointScratch bytes.
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

// makePoints makes the tables of the weights of n points in scratch, M31 over the lower
// index bits and elements of K over the upper ones.
func makePoints(d Device, vars int, points Ptr, n int, scratch Ptr) (lower, upper Ptr, err error) {
	if vars < 0 || vars > code.MaxLogSize || n < 1 {
		return 0, 0, fmt.Errorf("%w: weights of %d points over 2^%d", ErrSize, n, vars)
	}
	high, _ := WeightSizes(vars)
	upper = scratch
	lower = scratch.Offset(n*high, SizeQM31)
	return lower, upper, d.Launch(Kernel{"whir", "make_points"}, Launch{GridX: n, Block: threads}, uint64(lower), uint64(upper), uint64(points), uint64(vars))
}

// PointScratch is the room in bytes that AddPoints needs.
func PointScratch(vars, n int) int {
	high, low := WeightSizes(vars)
	return n * (high*SizeQM31 + low*SizeM31)
}

// roundBlocks is the most blocks of a round: enough to fill a device, few enough
// that their sums do not queue.
const roundBlocks = 1 << 11

func roundLaunch(pairs int) Launch {
	return Launch{GridX: min(roundBlocks, (pairs+threads-1)/threads), Block: threads}
}

// paired is a kernel for tables of n elements, at least `unit` and a multiple of it.
func paired(name string, n, unit int) sized {
	return Kernel{"whir", name}.of().unless(n < unit || n%unit != 0, "of %d", n)
}

// PairRound makes two sums: the value at 0 and the leading coefficient of
// X ↦ Σ f(X, x)·q(X, x), for tables of n elements of K, n even.
func PairRound(d Device, f, q Ptr, n int, p Post) error {
	return paired("pair_round", n, 2).launch(d, roundLaunch(n/2), p.sums(uint64(f), uint64(q), uint64(n/2))...)
}

// PairBind binds the first variable of f and q, of n elements of K each, a multiple of 4, to
// r in place, and does what PairRound does for the result.
func PairBind(d Device, f, q Ptr, n int, r field.QM31, p Post) error {
	low, high := pack(r)
	return paired("pair_bind", n, 4).launch(d, roundLaunch(n/4), p.sums(uint64(f), uint64(q), uint64(n/4), low, high)...)
}

// PairEnd binds the first variable of f and q, of n elements of K each, n even, to r in place.
func PairEnd(d Device, f, q Ptr, n int, r field.QM31) error {
	low, high := pack(r)
	return paired("pair_end", n, 2).launch(d, roundLaunch(n/2), uint64(f), uint64(q), uint64(n/2), low, high)
}
