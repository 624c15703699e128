package graph

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
)

// Reshape gives the elements, in row-major order, another shape.
type Reshape struct{ Shape []int }

func (r Reshape) infer(in []operandType) operandType {
	must.OK(checkInts(r.Shape))
	refuse.If(Size(r.Shape) != Size(in[0].shape), "shape %v does not hold the elements of %v", r.Shape, in[0].shape)
	return operandType{shape: r.Shape, dtype: in[0].dtype}
}

func (Reshape) eval(in []operand, shape []int) operand { return in[0].as(shape) }

// as returns an operand with the same elements and another shape.
func (o operand) as(shape []int) operand {
	o.shape = shape
	return o
}

// Reshape gives x another shape with the same number of elements.
func (b *Builder) Reshape(x Value, shape []int) Value {
	if b.valid(x) && slices.Equal(b.Shape(x), shape) {
		return x
	}
	return b.emit(Reshape{shape}, x)
}

// Convert keeps the numbers and changes the element type. If To is an integer type, the
// numbers must be whole and in its range.
type Convert struct{ To DType }

func (c Convert) infer(in []operandType) operandType {
	return operandType{shape: in[0].shape, dtype: c.To}
}

func (Convert) eval(in []operand, shape []int) operand { return in[0].as(shape) }

// Cast converts x to another element type. Floats become integers by truncation; numbers
// that do not fit an integer type of up to 16 bits wrap around. Float types of more than
// 8 bits are all treated as Float. In a float type of 8 bits or fewer a number that is
// too large becomes the largest number.
func (b *Builder) Cast(x Value, to DType) Value { return b.CastTo(x, to, true) }

// CastTo is Cast. If saturate is false, numbers that are too large for a floating-point
// type of 8 bits become infinite, or NaN if the type has no infinity.
func (b *Builder) CastTo(x Value, to DType, saturate bool) Value {
	if !b.valid(x) {
		return Value{}
	}
	from := b.DType(x)
	switch {
	case !to.Known():
		return b.Failf("cast to %v is not supported", to)
	case b.extends(x) && (!b.partial(x) || to == Bool || to.IsFloat() && !to.Small()):
		return b.castParts(x, to, saturate)
	case to.Small():
		return b.toSmall(x, to, saturate)
	}
	switch {
	case b.Tensor(x) != nil:
		return b.castConstant(b.Tensor(x), to)
	case to.IsFloat() == from.IsFloat() && (to.IsFloat() || to == from):
		return x
	case to == Bool:
		return b.Not(b.Test(IsZero, x))
	case from.IsFloat():
		x = b.Apply(Trunc, x)
	}
	if to.IsFloat() || !from.IsFloat() && from.fits(to) {
		return b.emit(Convert{to}, x)
	}
	if to.Bits() <= wrapped {
		return b.emit(Wraparound{to}, x)
	}
	x = b.emit(Convert{to}, x)
	b.Within(x)
	return x
}

func (b *Builder) castConstant(t *Tensor, to DType) (out Value) {
	defer b.refused(&out)
	refuse.If(!b.spend(t.Len()), "the constant that it makes is too large")
	return b.made("Cast", must.Get(t.cast(to)))
}

// Whole returns x with the integer type to. The numbers of x must be whole and fit that
// type.
func (b *Builder) Whole(x Value, to DType) Value {
	if b.Tensor(x) != nil {
		return b.Cast(x, to)
	}
	return b.emit(Convert{to}, x)
}

// InType brings the integers that an arithmetic operation made into the range of their
// type. Those of at most 16 bits, and constants, wrap around as in a processor. Longer
// computed ones stay as they are, since a circuit holds none of more than 30 bits; a run
// in which one leaves the range of its type fails with an error that names the node (see
// [Node.Within]).
func (b *Builder) InType(x Value) Value {
	if !b.valid(x) || b.DType(x).IsFloat() {
		return x
	}
	to := b.DType(x)
	switch t := b.Tensor(x); {
	case t != nil:
		if lo, hi := to.Bounds(); to.Bits() == 64 || !slices.ContainsFunc(t.I64, func(v int64) bool { return v < lo || v > hi }) {
			return x
		}
		lo, _ := to.Bounds()
		size := int64(1) << to.Bits()
		return b.made("InType", &Tensor{Shape: t.Shape, DType: to, Public: t.Public, I64: apply(t.I64, func(v int64) int64 {
			return ((v-lo)%size+size)%size + lo
		})})
	case to.Bits() <= wrapped:
		return b.emit(Wraparound{to}, x)
	default:
		b.Within(x)
	}
	return x
}

// Within marks the node of x, integers of 32 or 64 bits that the current node of the
// source computes, so that a run in which they leave the range of their type fails (see
// [Node.Within]).
func (b *Builder) Within(x Value) {
	if b.valid(x) && x.v.node != nil && x.v.index >= b.first && !x.v.dtype.IsFloat() && x.v.dtype.Bits() > wrapped {
		x.v.node.within = true
	}
}

// wrapped is the largest number of bits of integer types that wrap around in a circuit.
const wrapped = 16

// Wraparound takes whole numbers modulo 2 to the bits of an integer type of at most 16 bits, into
// the range of the type.
type Wraparound struct{ To DType }

func (w Wraparound) infer(in []operandType) operandType {
	refuse.If(w.To.IsFloat() || w.To.Bits() > wrapped, "numbers do not wrap around in %v", w.To)
	return operandType{shape: in[0].shape, dtype: w.To}
}

func (w Wraparound) eval(in []operand, shape []int) operand {
	lo, _ := w.To.Bounds()
	size := math.Ldexp(1, w.To.Bits())
	return operand{shape: shape, f: apply(in[0].float64s(), func(x float64) float64 {
		x -= float64(lo)
		return x - float64(size*math.Floor(x/size)) + float64(lo)
	})}
}

// Identity gives a graph output a name of its own where it is an input, a
// constant or another output.
type Identity struct{}

func (Identity) infer(in []operandType) operandType {
	return operandType{shape: in[0].shape, dtype: in[0].dtype}
}

func (Identity) eval(in []operand, shape []int) operand { return in[0].as(shape) }

// The operators below move elements. Each of them treats every output axis separately:
// output (i_1, …, i_r) reads the input at position Σ_k table_k[i_k], or is padding if one
// of the entries is negative.

// axisTables makes these tables for an input of shape in and an output of the given
// shape. at returns, for index i along output axis k, the input axis and the index along
// it, which is negative for padding.
func axisTables(in, shape []int, at func(k, i int) (axis, index int)) [][]int {
	st := Strides(in)
	tables := make([][]int, len(shape))
	for k, d := range shape {
		tables[k] = make([]int, d)
		for i := range tables[k] {
			axis, j := at(k, i)
			if j < 0 {
				tables[k][i] = -1
				continue
			}
			tables[k][i] = j * st[axis]
		}
	}
	return tables
}

// moved computes the result of an operator that moves elements; fill is the padding.
func moved(x operand, shape []int, tables [][]int, fill float64) operand {
	out := operand{shape: shape}
	switch {
	case x.f != nil:
		out.f = move(x.f, tables, shape, fill)
	case x.w != nil:
		out.w = move(x.w, tables, shape, float32(fill))
	default:
		out.i = move(x.i, tables, shape, whole(fill))
	}
	return out
}

// move is moved for elements of one type.
func move[T number](src []T, tables [][]int, shape []int, fill T) []T {
	out := make([]T, Size(shape))
	r := len(shape)
	if len(out) == 0 {
		return out
	}
	if r == 0 {
		out[0] = src[0]
		return out
	}
	last := tables[r-1]
	run := slices.Min(last) >= 0 // whether each row of the last axis is copied in one piece
	for i, v := range last {
		run = run && v == last[0]+i
	}
	eachRow(shape, func(from, to int) { moveRows(out, src, tables, shape, fill, run, from, to) })
	return out
}

// moveRows moves the elements of the rows [from, to) of out; run says that those of the
// last axis are copied in one piece.
func moveRows[T number](out, src []T, tables [][]int, shape []int, fill T, run bool, from, to int) {
	last := tables[len(shape)-1]
	for idx := indexOf(from, shape[:len(shape)-1]); from < to; from++ {
		dst := out[from*len(last):][:len(last)]
		base := 0
		for k, x := range idx {
			t := tables[k][x]
			if t < 0 {
				base = -1
				break
			}
			base += t
		}
		switch {
		case base < 0:
			for i := range dst {
				dst[i] = fill
			}
		case run:
			copy(dst, src[base+last[0]:])
		default:
			for i, t := range last {
				if t < 0 {
					dst[i] = fill
				} else {
					dst[i] = src[base+t]
				}
			}
		}
		increment(idx, shape)
	}
}

// Transpose reorders the axes: output axis j is input axis Perm[j].
type Transpose struct{ Perm []int }

func (t Transpose) infer(in []operandType) operandType {
	rank := len(in[0].shape)
	sorted := slices.Sorted(slices.Values(t.Perm))
	refuse.If(!ascending(sorted) || len(sorted) != rank, "permutation %v of a tensor of shape %v", t.Perm, in[0].shape)
	return operandType{shape: each(t.Perm, func(p int) int { return in[0].shape[p] }), dtype: in[0].dtype}
}

func (t Transpose) eval(in []operand, shape []int) operand {
	return moved(in[0], shape, axisTables(in[0].shape, shape, func(k, i int) (int, int) { return t.Perm[k], i }), 0)
}

// Transpose reorders the axes of x: axis j of the result is axis perm[j] of x.
func (b *Builder) Transpose(x Value, perm []int) Value {
	if len(perm) == len(b.Shape(x)) && ascending(perm) {
		return x
	}
	return b.emit(Transpose{perm}, x)
}

// Slice takes Counts elements along each axis: index i of the result reads
// Starts + i·Steps. Steps may be negative.
type Slice struct{ Starts, Steps, Counts []int }

func (s Slice) infer(in []operandType) operandType {
	shape := in[0].shape
	if n := len(shape); len(s.Starts) != n || len(s.Steps) != n || len(s.Counts) != n {
		refuse.With("starts %v, steps %v and counts %v of shape %v", s.Starts, s.Steps, s.Counts, shape)
	}
	for i, d := range shape {
		start, step, count := s.Starts[i], s.Steps[i], s.Counts[i]
		room := d - 1 - start // elements after the first, in the direction of the steps
		if step < 0 {
			room, step = start, -step
		}
		refuse.If(count < 0 || step <= 0 || count > 0 && (start < 0 || start >= d || count-1 > room/step),
			"%d elements from %d by steps of %d, of an axis of %d", count, start, s.Steps[i], d)
	}
	return operandType{shape: s.Counts, dtype: in[0].dtype}
}

func (s Slice) eval(in []operand, shape []int) operand {
	return moved(in[0], shape, axisTables(in[0].shape, shape, func(k, i int) (int, int) { return k, s.Starts[k] + i*s.Steps[k] }), 0)
}

// Slice takes counts elements along each axis of x, from starts on by steps.
func (b *Builder) Slice(x Value, starts, steps, counts []int) Value {
	if !b.valid(x) {
		return Value{}
	}
	s := Slice{starts, slices.Clone(steps), counts}
	same := slices.Equal(counts, b.Shape(x)) && len(starts) == len(counts) && len(steps) == len(counts)
	for i, n := range counts {
		same = same && starts[i] == 0 && (steps[i] == 1 || n == 1)
		if n == 1 && i < len(s.Steps) {
			s.Steps[i] = 1
		}
	}
	if same {
		return x
	}
	return b.emit(s, x)
}

// SliceAxis is Slice along one axis.
func (b *Builder) SliceAxis(x Value, axis, start, step, count int) (made Value) {
	defer b.refused(&made)
	b.needAxes(x, axis)
	in := b.Shape(x)
	starts, steps, counts := make([]int, len(in)), slices.Repeat([]int{1}, len(in)), slices.Clone(in)
	starts[axis], steps[axis], counts[axis] = start, step, count
	return b.Slice(x, starts, steps, counts)
}

// Gather picks elements along an axis: the result at index i is the element at
// Indices[i], or 0 if that is −1. The number of axes stays.
type Gather struct {
	Axis    int
	Indices []int
}

func (g Gather) infer(in []operandType) operandType {
	checkAxes([]int{g.Axis}, len(in[0].shape))
	shape := slices.Clone(in[0].shape)
	for _, i := range g.Indices {
		if i < -1 || i >= shape[g.Axis] {
			refuse.With("index %d of an axis of %d", i, shape[g.Axis])
		}
	}
	shape[g.Axis] = len(g.Indices)
	return operandType{shape: shape, dtype: in[0].dtype}
}

func (g Gather) eval(in []operand, shape []int) operand {
	return moved(in[0], shape, axisTables(in[0].shape, shape, func(k, i int) (int, int) {
		if k == g.Axis {
			i = g.Indices[i]
		}
		return k, i
	}), 0)
}

// Gather returns the elements of x at indices along axis, with 0 for an index of −1. It
// becomes a Slice if the indices are evenly spaced.
func (b *Builder) Gather(x Value, axis int, indices []int) Value {
	if n := len(indices); n > 0 && slices.Min(indices) >= 0 {
		step := 1
		if n > 1 {
			step = indices[1] - indices[0]
		}
		even := step != 0
		for i := 1; i < n; i++ {
			even = even && indices[i]-indices[i-1] == step
		}
		if even {
			return b.SliceAxis(x, axis, indices[0], step, n)
		}
	}
	return b.emit(Gather{axis, indices}, x)
}

// Pad surrounds the elements by a value: Begin of them before and End after,
// along each axis.
type Pad struct {
	Begin, End []int // not negative
	Value      float64
}

func (p Pad) infer(in []operandType) operandType {
	shape := slices.Clone(in[0].shape)
	refuse.If(len(p.Begin) != len(shape) || len(p.End) != len(shape),
		"pads %v and %v of shape %v", p.Begin, p.End, shape)
	for i := range shape {
		refuse.If(min(p.Begin[i], p.End[i]) < 0 || max(p.Begin[i], p.End[i]) > MaxElements,
			"pads %v and %v of shape %v", p.Begin, p.End, shape)
		shape[i] += p.Begin[i] + p.End[i]
	}
	return operandType{shape: shape, dtype: in[0].dtype}
}

func (p Pad) eval(in []operand, shape []int) operand {
	return moved(in[0], shape, axisTables(in[0].shape, shape, func(k, i int) (int, int) {
		if j := i - p.Begin[k]; j < in[0].shape[k] {
			return k, j
		}
		return k, -1
	}), p.Value)
}

// Pad surrounds x by a value; negative amounts cut.
func (b *Builder) Pad(x Value, begin, end []int, value float64) (made Value) {
	defer b.refused(&made)
	b.need(x)
	in := b.Shape(x)
	refuse.If(len(begin) != len(in) || len(end) != len(in), "pads %v and %v of shape %v", begin, end, in)
	starts, steps, counts := make([]int, len(in)), make([]int, len(in)), make([]int, len(in))
	p := Pad{make([]int, len(in)), make([]int, len(in)), value}
	none := true
	for i, d := range in {
		refuse.If(min(begin[i], end[i]) < -d, "it cuts more than there is of shape %v", in)
		starts[i], steps[i] = max(-begin[i], 0), 1
		counts[i] = d - starts[i] - max(-end[i], 0)
		refuse.If(counts[i] < 0, "it cuts more than there is of shape %v", in)
		p.Begin[i], p.End[i] = max(begin[i], 0), max(end[i], 0)
		none = none && p.Begin[i] == 0 && p.End[i] == 0
	}
	x = b.Slice(x, starts, steps, counts)
	switch parts := func() parts { return b.padParts(p, x) }; {
	case none:
		return x
	case b.pairs(x):
		return b.pair(Float, parts())
	case b.extends(x) || b.DType(x).IsFloat() && float32(value) == leastFloat:
		return b.masking(b.emit(p, x), parts)
	}
	return b.emit(p, x)
}

// padParts returns the parts of the padded x. The truth values are padded with 0; but if
// the padding value stands for −∞, fin is padded with 0 and neg with 1.
func (b *Builder) padParts(p Pad, x Value) parts {
	out, value := b.parts(x), p.Value
	p.Value = 0
	out.nan, out.pos = b.emit(p, out.nan), b.emit(p, out.pos)
	if float32(value) == leastFloat {
		value = 0
		p.Value = 1
		if !b.valid(out.neg) {
			out.neg = b.never(b.Shape(x))
		}
	}
	out.neg = b.emit(p, out.neg)
	p.Value = value
	out.fin = b.emit(p, out.fin)
	return out
}

// PadMode is a way to pad a tensor with elements of itself.
type PadMode uint8

// The modes. For an axis with the elements a, b, c they give: Reflect … c b | a b c | b a
// …, Edge … a a | a b c | c c …, Wrap … b c | a b c | a b …
const (
	Reflect PadMode = iota
	Edge
	Wrap
)

// PadWithin pads one axis of x with elements of x; negative amounts cut first.
func (b *Builder) PadWithin(x Value, axis, begin, end int, mode PadMode) (made Value) {
	defer b.refused(&made)
	b.needAxes(x, axis)
	d := b.Shape(x)[axis]
	n := begin + d + end
	refuse.If(d == 0 || max(begin, end) > MaxActivations || n < 0 || n > MaxActivations,
		"pads of %d and %d to an axis of %d", begin, end, d)
	first := max(-begin, 0)
	kept := d - first - max(-end, 0)
	refuse.If(kept <= 0 && n > 0, "pads of %d and %d to an axis of %d, of which nothing is kept", begin, end, d)
	refuse.If(mode == Reflect && max(begin, end) >= max(kept, 1), "reflects %d and %d of an axis of %d", begin, end, kept)
	b.needRoom(n)
	indices := make([]int, n)
	for i := range indices {
		j := i - begin
		switch mode {
		case Edge:
			j = min(max(j, 0), d-1)
		case Wrap:
			j = first + ((j-first)%kept+kept)%kept
		case Reflect:
			if j < 0 {
				j = -j
			}
			if j >= d {
				j = 2*(d-1) - j
			}
		}
		indices[i] = j
	}
	return b.Gather(x, axis, indices)
}

// Expand broadcasts to Shape as NumPy does.
type Expand struct{ Shape []int }

func (e Expand) infer(in []operandType) operandType {
	refuse.If(!spreads(in[0].shape, e.Shape), "shape %v does not broadcast to %v", in[0].shape, e.Shape)
	return operandType{shape: e.Shape, dtype: in[0].dtype}
}

func (Expand) eval(in []operand, shape []int) operand {
	return moved(in[0], shape, broadcastTables(in[0].shape, shape), 0)
}

// Expand repeats x so that it has the shape to which its own and the given one broadcast.
func (b *Builder) Expand(x Value, with []int) (made Value) {
	defer b.refused(&made)
	b.need(x)
	in := b.Shape(x)
	shape, ok := Broadcast(in, with)
	refuse.If(!ok, "shape %v does not broadcast to its target", in)
	if err := checkInts(shape); err != nil {
		return b.Failf("output: %v", err)
	}
	if Size(shape) == Size(in) {
		return b.Reshape(x, shape)
	}
	return b.emit(Expand{shape}, x)
}

// Tile repeats the elements along each axis.
type Tile struct{ Repeats []int }

func (t Tile) infer(in []operandType) operandType {
	shape := slices.Clone(in[0].shape)
	refuse.If(len(t.Repeats) != len(shape), "repeats %v of shape %v", t.Repeats, shape)
	for i, n := range t.Repeats {
		refuse.If(n < 0 || shape[i] > 0 && n > MaxElements/shape[i],
			"repeats %v of shape %v are too many", t.Repeats, in[0].shape)
		shape[i] *= n
	}
	return operandType{shape: shape, dtype: in[0].dtype}
}

func (Tile) eval(in []operand, shape []int) operand {
	return moved(in[0], shape, axisTables(in[0].shape, shape, func(k, i int) (int, int) { return k, i % in[0].shape[k] }), 0)
}

// Tile repeats x, repeats[i] times along axis i.
func (b *Builder) Tile(x Value, repeats []int) Value {
	if b.valid(x) && len(repeats) == len(b.Shape(x)) && !slices.ContainsFunc(repeats, func(n int) bool { return n != 1 }) {
		return x
	}
	return b.emit(Tile{repeats}, x)
}

// Concat joins its operands along an axis.
type Concat struct{ Axis int }

func (Concat) takes() operands { return operands{0, math.MaxInt, nil} }

func (c Concat) infer(in []operandType) operandType {
	refuse.If(len(in) == 0, "has no inputs")
	first := in[0]
	checkAxes([]int{c.Axis}, len(first.shape))
	shape := slices.Clone(first.shape)
	shape[c.Axis] = 0
	for i, v := range in {
		refuse.If(len(v.shape) != len(shape) || v.dtype.IsFloat() != first.dtype.IsFloat(),
			"input %d has shape %v and type %v; input 0 has %v and %v", i, v.shape, v.dtype, first.shape, first.dtype)
		for j := range v.shape {
			refuse.If(j != c.Axis && v.shape[j] != shape[j],
				"shapes %v and %v do not join along axis %d", first.shape, v.shape, c.Axis)
		}
		shape[c.Axis] += v.shape[c.Axis]
	}
	return operandType{shape: shape, dtype: first.dtype}
}

func (c Concat) eval(in []operand, shape []int) operand {
	out := operand{shape: shape}
	allW, allI := true, true
	for _, v := range in {
		allW = allW && v.w != nil
		allI = allI && v.i != nil
	}
	switch {
	case allW:
		out.w = concat(in, func(v operand) []float32 { return v.w }, shape, c.Axis)
	case allI:
		out.i = concat(in, func(v operand) []int64 { return v.i }, shape, c.Axis)
	default:
		out.f = concat(in, operand.float64s, shape, c.Axis)
	}
	return out
}

// Concat joins values along an axis; empty ones are left out.
func (b *Builder) Concat(axis int, parts ...Value) (made Value) {
	defer b.refused(&made)
	b.need(parts...)
	inferred(Concat{axis}, b.operandTypes(parts...)) // checks all parts, the empty ones included
	kept := slices.DeleteFunc(slices.Clone(parts), func(v Value) bool { return Size(b.Shape(v)) == 0 })
	if len(kept) == 0 {
		kept = parts[:1]
	}
	if len(kept) == 1 {
		return kept[0]
	}
	return b.emit(Concat{axis}, kept...)
}

func concat[T number](in []operand, data func(operand) []T, shape []int, axis int) []T {
	out := make([]T, Size(shape))
	outer, row := Size(shape[:axis]), Size(shape[axis:])
	at := 0
	for _, v := range in {
		src := data(v)
		n := Size(v.shape[axis:])
		for o := range outer {
			copy(out[o*row+at:o*row+at+n], src[o*n:(o+1)*n])
		}
		at += n
	}
	return out
}
