package graph

import (
	"math"
	"slices"

	"github.com/prove-model/prove-model/internal/refuse"
)

// Exceeds compares elements of rows with thresholds, as decision trees do. For an
// operand of shape [rows, features] it gives one truth value for each row and split.
type Exceeds struct{ Splits []Split }

// Split is a comparison of a feature with a threshold.
type Split struct {
	Feature int
	Value   float32
	OrEqual bool // x ≥ Value rather than x > Value
}

// Holds reports whether the comparison holds for a value x of the feature.
func (s Split) Holds(x float64) bool {
	return x > float64(s.Value) || s.OrEqual && x == float64(s.Value)
}

func (e Exceeds) infer(in []operandType) operandType {
	x := in[0]
	refuse.If(len(x.shape) != 2 || x.dtype == Bool,
		"its operand has shape %v and type %v; rows of features are expected", x.shape, x.dtype)
	for i, s := range e.Splits {
		if s.Feature < 0 || s.Feature >= x.shape[1] {
			refuse.With("split %d is on feature %d of %d", i, s.Feature, x.shape[1])
		}
		if s.Value-s.Value != 0 {
			refuse.With("split %d is at %v", i, s.Value)
		}
	}
	return operandType{shape: []int{x.shape[0], len(e.Splits)}, dtype: Bool}
}

func (e Exceeds) eval(in []operand, shape []int) operand {
	x, features := in[0].float64s(), in[0].shape[1]
	out := make([]int64, 0, Size(shape))
	for r := range shape[0] {
		row := x[r*features : (r+1)*features]
		for _, s := range e.Splits {
			out = append(out, int64(indicator(s.Holds(row[s.Feature]))))
		}
	}
	return operand{shape: shape, i: out}
}

// Forest adds up the results of decision trees. Its first operand has truth values of
// shape [rows, bits], by which the trees branch. The second one has constant weights of
// shape [leaves, targets]. In every tree each row ends in one leaf; the result for the
// row is Base plus the weights of these leaves. It has shape [rows, targets].
type Forest struct {
	Roots    []Child // the root of each tree
	Branches []Branch
	Base     []float64 // for each target; nil means 0
}

// Branch is an inner node of a tree.
type Branch struct {
	Bit         int   // index of the operand's bit that decides
	Under, Over Child // the next node if the bit is 0 (Under) or 1 (Over)
}

// Child is a node below another one: branch number c, or leaf number ^c if c is
// negative.
type Child int32

// Leaf returns the number of the leaf that c is, if it is one.
func (c Child) Leaf() (int, bool) { return int(^c), c < 0 }

func (Forest) takes() operands { return operands{2, 2, nil} }

func (f Forest) infer(in []operandType) operandType {
	bits, w := in[0], in[1]
	refuse.If(len(bits.shape) != 2 || bits.dtype != Bool,
		"it branches by a value of shape %v and type %v; rows of truth values are expected", bits.shape, bits.dtype)
	refuse.If(w.value == nil || len(w.shape) != 2 || !w.dtype.IsFloat(),
		"the weights of its leaves must be a constant of floats, by leaf and target")
	refuse.If(f.Base != nil && len(f.Base) != w.shape[1], "%d base values for %d targets", len(f.Base), w.shape[1])
	f.checkTrees(bits.shape[1], w.shape[0])
	d := f.depth()
	refuse.If(d*w.shape[0] > maxPlaces, "its trees are up to %d deep, with %d leaves: that is too many", d, w.shape[0])
	return operandType{shape: []int{bits.shape[0], w.shape[1]}, dtype: Float}
}

// checkTrees refuses a forest unless each branch and leaf is a root or below exactly one
// branch, and each branch comes after the one above it. So there are no cycles.
func (f Forest) checkTrees(bits, leaves int) {
	seen := map[Child]bool{}
	below := func(above int, children ...Child) {
		for _, c := range children {
			leaf, is := c.Leaf()
			switch {
			case seen[c]:
				refuse.With("a node of a tree is below two others")
			case is && leaf >= leaves || !is && (int(c) <= above || int(c) >= len(f.Branches)):
				refuse.With("a tree has a node numbered %d", c)
			}
			seen[c] = true
		}
	}
	below(-1, f.Roots...)
	for i, b := range f.Branches {
		if b.Bit < 0 || b.Bit >= bits {
			refuse.With("branch %d is by bit %d of %d", i, b.Bit, bits)
		}
		below(i, b.Under, b.Over)
	}
	refuse.If(len(seen) != len(f.Branches)+leaves, "a node is in no tree")
}

func (f Forest) eval(in []operand, shape []int) operand {
	bits, w := in[0].float64s(), in[1].float64s()
	n, targets := in[0].shape[1], shape[1]
	out := make([]float64, Size(shape))
	for r := range shape[0] {
		row := out[r*targets : (r+1)*targets]
		copy(row, f.Base)
		for _, at := range f.Roots {
			for at >= 0 {
				b := f.Branches[at]
				if at = b.Under; bits[r*n+b.Bit] != 0 {
					at = b.Over
				}
			}
			leaf, _ := at.Leaf()
			for t := range row {
				row[t] += w[leaf*targets+t]
			}
		}
	}
	return operand{shape: shape, f: out}
}

// maxPlaces bounds the leaves of a forest times its depth.
const maxPlaces = 1 << 26

// depth is the number of branches on the longest path from a root to a leaf.
func (f Forest) depth() int {
	above := make([]int, len(f.Branches))
	deepest := 0
	for i, b := range f.Branches { // a branch comes after the one above it
		for _, c := range []Child{b.Under, b.Over} {
			if c >= 0 {
				above[c] = above[i] + 1
			}
		}
		deepest = max(deepest, above[i]+1)
	}
	return deepest
}

// Paths returns, for every leaf, the bits that a row must have as 1 (over) and as 0
// (under) to end in the leaf, each in the order from the root to the leaf.
func (f Forest) Paths() (over, under [][]int) {
	above := make([]struct{ over, under []int }, len(f.Branches))
	leaves := len(f.Roots) + len(f.Branches) // a branch has two children, so leaves + branches = roots + 2·branches
	over, under = make([][]int, leaves), make([][]int, leaves)
	set := func(c Child, o, u []int) {
		if leaf, is := c.Leaf(); is {
			over[leaf], under[leaf] = o, u
		} else {
			above[c].over, above[c].under = o, u
		}
	}
	for i, b := range f.Branches { // a branch comes after the one above it
		a := above[i]
		set(b.Under, a.over, append(slices.Clone(a.under), b.Bit))
		set(b.Over, append(slices.Clone(a.over), b.Bit), a.under)
	}
	return over, under
}

// Exceeds computes splits for each row of x. If a feature is an element of an earlier
// value, moved to another place or scaled by constants, Exceeds compares that value
// instead, with a threshold that gives the same result for every float32. So nothing is
// rounded before the comparison.
func (b *Builder) Exceeds(x Value, splits []Split) (made Value) {
	defer b.refused(&made)
	b.need(x)
	if len(splits) == 0 || b.Tensor(x) != nil {
		return b.emit(Exceeds{splits}, x)
	}
	if b.pairs(x) {
		return b.exceedsParts(x, splits)
	}
	inferred(Exceeds{splits}, b.operandTypes(x))
	// Group the splits by the value that they compare, without duplicates.
	var sources []*value
	asked := map[*value][]Split{}
	type question struct {
		of *value
		Split
	}
	place := map[question]int{} // index of a split in asked[its value]
	questions := make([]question, len(splits))
	for i, s := range splits {
		v, s := source(x.v, s)
		if asked[v] == nil {
			sources = append(sources, v)
		}
		q := question{v, s}
		if _, known := place[q]; !known {
			place[q] = len(asked[v])
			asked[v] = append(asked[v], s)
		}
		questions[i] = q
	}
	var parts []Value
	from := map[*value]int{}
	total := 0
	for _, v := range sources {
		parts = append(parts, b.emit(Exceeds{asked[v]}, Value{v}))
		from[v] = total
		total += len(asked[v])
	}
	order := each(questions, func(q question) int { return from[q.of] + place[q] })
	return b.Gather(b.Concat(1, parts...), 1, order)
}

// source follows the feature of s, a column of v of shape [rows, features], back through
// operators that move or scale it. It returns the earliest value that has the feature,
// and the split of that value that is equivalent to s.
func source(v *value, s Split) (*value, Split) {
	for v.node != nil {
		n := v.node
		in, before := n.in[0], s // before becomes the split of in that is equivalent to s
		switch op := n.op.(type) {
		case Convert:
			if in.dtype == Bool || !op.To.IsFloat() {
				return v, s
			}
		case Identity:
		case Gather:
			if op.Axis != 1 {
				return v, s
			}
			if before.Feature = op.Indices[s.Feature]; before.Feature < 0 { // a 0 that is no element of in
				return v, s
			}
		case Slice:
			if op.Starts[0] != 0 || op.Steps[0] != 1 {
				return v, s
			}
			before.Feature = op.Starts[1] + s.Feature*op.Steps[1]
		case Concat:
			if op.Axis != 1 {
				return v, s
			}
			for _, part := range n.in {
				if in = part; before.Feature < part.shape[1] {
					break
				}
				before.Feature -= part.shape[1]
			}
		case Arithmetic:
			f, ok := monotone(op, n.in, s.Feature)
			if !ok {
				return v, s
			}
			before = s.before(f)
		default:
			return v, s
		}
		if in.tensor != nil || len(in.shape) != 2 || in.shape[0] != v.shape[0] {
			return v, s
		}
		v, s = in, before
	}
	return v, s
}

// monotone returns the function of a feature that the sum or product with a constant
// computes in float32. It returns false if the function is not increasing, or in[1] is
// not such a constant.
func monotone(op Arithmetic, in []*value, feature int) (func(float32) float32, bool) {
	c := in[1].tensor
	if c == nil || !in[0].dtype.IsFloat() || len(in[0].shape) != 2 || c.Len() != 1 && (c.Len() != in[0].shape[1] || c.Shape[len(c.Shape)-1] != c.Len()) {
		return nil, false
	}
	k := float32(c.At(feature % c.Len()))
	switch {
	case op == Add:
		return func(x float32) float32 { return x + k }, true
	case op == Sub:
		return func(x float32) float32 { return x - k }, true
	case op == Mul && k > 0:
		return func(x float32) float32 { return x * k }, true
	}
	return nil, false
}

// before returns the split of x that gives the same result as s for f(x), for an
// increasing f and every float32.
func (s Split) before(f func(float32) float32) Split {
	// Search for the least x for which s holds for f(x). at maps integers to float32 in
	// ascending order.
	at := func(i int64) float32 {
		if i < 0 {
			return -math.Float32frombits(uint32(-i))
		}
		return math.Float32frombits(uint32(i))
	}
	hi := int64(math.Float32bits(math.MaxFloat32))
	lo := -hi
	for lo < hi {
		if mid := lo + (hi-lo)/2; s.Holds(float64(f(at(mid)))) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	if s.OrEqual {
		return Split{s.Feature, at(lo), true}
	}
	return Split{s.Feature, at(max(lo-1, -int64(math.Float32bits(math.MaxFloat32)))), false}
}

// Forest adds up the weights of the leaves in which each row of bits ends.
func (b *Builder) Forest(f Forest, bits, weights Value) Value { return b.emit(f, bits, weights) }

// Trees returns the numbers of the leaves of each tree; leaves is the number of leaves in
// the whole forest.
func (f Forest) Trees(leaves int) [][]int {
	tree := make([]int, len(f.Branches)) // the tree of each branch
	trees := make([][]int, len(f.Roots))
	take := func(c Child, of int) {
		if leaf, is := c.Leaf(); is {
			trees[of] = append(trees[of], leaf)
		} else {
			tree[c] = of
		}
	}
	for i, c := range f.Roots {
		take(c, i)
	}
	for i, b := range f.Branches {
		take(b.Under, tree[i])
		take(b.Over, tree[i])
	}
	return trees
}
